import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOwner, createSessionId, type SessionId } from "@budgie/core";
import { collectDockerGarbage } from "@budgie/runner-docker";
import { connectEngine } from "../src/engine/engine.ts";
import { BASE_IMAGE, createDockerPlace, run } from "./helpers/docker-place.ts";
import { createEngineWithOwnLabels } from "./helpers/own-labels.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
const place = createDockerPlace();
// Others on the engine would collect the garbage before the code under test.
const opening = createEngineWithOwnLabels();
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await (await opening)[Symbol.asyncDispose]();
});
beforeAll(() =>
  execute(process.execPath, ["node_modules/typescript/bin/tsc", "-b", "packages/runner-docker"], { cwd: root }),
);

const toHostEnv = async () => ({ ...process.env, ...(await opening).hostEnv });

async function findEngine() {
  const { docker } = await connectEngine(await toHostEnv(), place.root);
  return docker;
}

type Abandoned = { readonly id: SessionId; readonly lock: string; readonly instance: string };

/** Starts a budgie with a running agent, and kills it with SIGKILL. */
async function abandon(input: string): Promise<Abandoned> {
  const fixture = fileURLToPath(new URL("fixtures/abandoned-runner.mjs", import.meta.url));
  const args = [fixture, place.stateDir, BASE_IMAGE, place.workspace, input];
  const child = spawn(process.execPath, args, { env: await toHostEnv(), stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGKILL");
  await once(child, "exit");
  return JSON.parse(line.toString()) as Abandoned;
}

async function tracesOf(id: SessionId) {
  const docker = await findEngine();
  const filters = { label: [`dev.budgie.session=${id}`] };
  const [running, all, { Volumes }] = await Promise.all([
    docker.listContainers({ filters }),
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ]);
  return { running: running.length, containers: all.length, volumes: Volumes.length };
}

async function collect(options: { readonly olderThanMs?: number; readonly dryRun?: boolean } = {}) {
  return collectDockerGarbage({
    owner: createOwner({ stateDir: place.stateDir }),
    stateDir: place.stateDir,
    home: process.env["HOME"] ?? "/root",
    hostEnv: await toHostEnv(),
    policy: { olderThanMs: 0, dryRun: false, ...options },
  });
}

describe("a budgie that is killed with SIGKILL", () => {
  it("takes its agent with it within seconds; its garbage is collected, but nothing of a live one", async () => {
    const { runner } = await place.createRunner({ hostEnv: await toHostEnv() });
    const live = await runner.openSession(createSessionId());
    await run(live, place.workspace, 'echo kept > "$HOME/note"');
    const { id, instance, lock } = await abandon("a prompt");
    const scratch = join(place.stateDir, "scratch", instance);
    mkdirSync(scratch, { recursive: true });
    writeFileSync(join(scratch, "data.sqlite3"), "a copy of the login that lived too long");

    await expect.poll(async () => (await tracesOf(id)).running).toBe(0);
    const before = await tracesOf(id);
    const dry = await collect({ dryRun: true });
    const young = await collect({ olderThanMs: 3_600_000 });
    const report = await collect();

    expect(before).toEqual({ running: 0, containers: 2, volumes: 2 });
    const ours = (items: readonly { readonly session: string | undefined }[]) =>
      items.filter(({ session }) => session === id);
    expect([ours(dry.removed).length, ours(young.kept).length, ours(report.removed).length]).toEqual([4, 4, 4]);
    expect(report.failed.filter(({ session }) => session === id)).toEqual([]);
    expect(await tracesOf(id)).toEqual({ running: 0, containers: 0, volumes: 0 });
    expect([existsSync(scratch), existsSync(lock)]).toEqual([false, false]);
    expect(report.kept.filter(({ session }) => session === live.id).map(({ why }) => why)).toEqual(
      Array(3).fill("its owner lives"),
    );
    expect(await live.readFile("note")).toBe("kept\n");
    expect((await run(live, place.workspace, "echo still here")).stdout).toBe("still here\n");
  });

  it("has its agent collected even while that still runs", async () => {
    const { id } = await abandon("live");

    const report = await collect();

    expect(report.failed.filter(({ session }) => session === id)).toEqual([]);
    expect(await tracesOf(id)).toEqual({ running: 0, containers: 0, volumes: 0 });
  });
});

describe("garbage collection", () => {
  it("keeps what belongs to an unreachable machine, and what is not budgie's", async () => {
    const docker = await findEngine();
    const id = createSessionId();
    const labels = {
      "dev.budgie": "1",
      "dev.budgie.session": id,
      "dev.budgie.role": "home",
      "dev.budgie.host": "elsewhere",
      "dev.budgie.created": new Date().toISOString(),
    };
    await docker.createVolume({ Name: `budgie-session-${id}`, Labels: { ...labels, "dev.budgie.instance": "other" } });
    await docker.createVolume({ Name: `budgie-session-${id}-lookalike` });
    try {
      const report = await collect();

      expect(report.kept).toContainEqual(
        expect.objectContaining({ session: id, why: expect.stringMatching(/another machine/) }),
      );
      const names = (await docker.listVolumes()).Volumes.map(({ Name }) => Name);
      expect(names).toEqual(expect.arrayContaining([`budgie-session-${id}`, `budgie-session-${id}-lookalike`]));
    } finally {
      for (const ending of ["", "-lookalike"]) await docker.getVolume(`budgie-session-${id}${ending}`).remove();
    }
  });

  it("removes no file or folder that a forged label names", async () => {
    const docker = await findEngine();
    const id = createSessionId();
    const [victim, folder] = [join(place.root, "victim"), join(place.stateDir, "scratch", "..", "precious")];
    writeFileSync(victim, "precious");
    mkdirSync(folder, { recursive: true });
    const owner = createOwner({ stateDir: place.stateDir });
    const Labels = {
      "dev.budgie": "1",
      "dev.budgie.session": id,
      "dev.budgie.role": "home",
      "dev.budgie.host": owner.record.host,
      "dev.budgie.lock": victim,
      "dev.budgie.instance": "../precious",
    };
    await docker.createVolume({ Name: `budgie-session-${id}`, Labels });

    const report = await collect();

    expect(report.removed).toContainEqual(expect.objectContaining({ session: id }));
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(readdirSync(place.stateDir)).toContain("precious");
  });

  it("needs an engine", async () => {
    const collecting = collectDockerGarbage({
      owner: createOwner({ stateDir: place.stateDir }),
      stateDir: place.stateDir,
      home: place.root,
      hostEnv: { DOCKER_HOST: "unix:///nonexistent" },
      policy: { olderThanMs: 0, dryRun: true },
    });

    await expect(collecting).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  });
});

describe("the example", () => {
  it("runs, and is the code that the README shows", async () => {
    const { stderr, stdout } = await execute(process.execPath, ["examples/docker-turn.mjs", BASE_IMAGE], { cwd: root });

    expect(stdout.split("\n")).toEqual([
      "Hello from a container; the workspace is /workspace",
      expect.stringMatching(/touch: .*'\/etc\/x': Read-only file system/),
      "exit code 1, isolation container",
      "",
    ]);
    expect(stderr).toBe("");
    const readme = readFileSync(join(root, "packages/runner-docker/README.md"), "utf8");
    expect(readme).toContain(readFileSync(join(root, "examples/docker-turn.mjs"), "utf8"));
  });
});
