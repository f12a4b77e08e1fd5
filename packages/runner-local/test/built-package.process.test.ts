import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import type { SessionId } from "@budgie/core";
import { createLocalPlace, findProcesses, type LocalPlace } from "./helpers/local-place.ts";

type Abandoned = { readonly id: SessionId; readonly lock: string };

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));

describe("the built package", () => {
  beforeAll(() =>
    run(process.execPath, ["node_modules/typescript/bin/tsc", "-b", "packages/runner-local"], { cwd: root }),
  );

  it("runs the example, which the README shows unchanged", async () => {
    const { stdout, stderr } = await run(process.execPath, ["examples/local-turn.mjs"], { cwd: root });

    expect(stdout.split("\n")).toEqual([
      `Hello from a session; the workspace is ${process.cwd().replace(/\/$/, "")}`,
      "exit code 0, isolation none",
      "",
    ]);
    expect(stderr).toBe("");
    const readme = readFileSync(join(root, "packages/runner-local/README.md"), "utf8");
    expect(readme).toContain(readFileSync(join(root, "examples/local-turn.mjs"), "utf8"));
  });

  it("collects the agents, daemons, folder, record and lock of a killed budgie", async () => {
    await using place = createLocalPlace();
    const { id, lock } = await abandonSession(place);
    const home = join(place.sessionsDir, id);
    const { runner } = place.createRunner();
    const abandoned = findProcesses(id);

    const report = await runner.collectGarbage({ olderThanMs: 0, dryRun: false });

    expect(abandoned.length).toBeGreaterThanOrEqual(2);
    expect(report).toEqual({ removed: [{ kind: "folder", name: home, session: id }], kept: [], failed: [] });
    expect(findProcesses(id)).toEqual([]);
    expect([home, lock].filter((path) => existsSync(path))).toEqual([]);
    expect(readdirSync(join(place.stateDir, "local-sessions"))).toEqual([]);
  });

  it("survives running out of descriptors, and still stops its processes", async () => {
    await using place = createLocalPlace();
    const args = [toFixture("exhausted-runner"), place.sessionsDir, place.stateDir, place.workspace];

    const { stdout } = await run("sh", ["-c", 'ulimit -n 256; exec "$@"', "sh", process.execPath, ...args]);

    expect(JSON.parse(stdout)).toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      exit: { signal: "SIGTERM", reason: "timeout" },
    });
  });

  it("survives collecting the session that it was started in", async () => {
    await using place = createLocalPlace();
    const { id } = await abandonSession(place);
    const env = { ...process.env, BUDGIE_SESSION: id };

    const { stdout } = await run(process.execPath, [toFixture("collector"), place.sessionsDir, place.stateDir], {
      env,
    });

    expect(JSON.parse(stdout)).toMatchObject({ removed: [{ session: id }], failed: [] });
  });
});

function toFixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}.mjs`, import.meta.url));
}

async function abandonSession({ sessionsDir, stateDir, workspace }: LocalPlace): Promise<Abandoned> {
  const args = [toFixture("abandoned-runner"), sessionsDir, stateDir, workspace];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGKILL");
  await once(child, "exit");
  return JSON.parse(line.toString());
}
