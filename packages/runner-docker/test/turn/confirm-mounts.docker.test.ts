import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createDockerPlace, run, testEngine, type DockerPlace } from "../helpers/docker-place.ts";
import { createSwap, type Swap } from "../../../claims/src/lab/swap.ts";
import { createTamperingEngine } from "../../../claims/src/docker/tampering-engine.ts";

const SWAPPED = "the container had something else";
const SECRET = "the key of the host";

describe("a workspace that is replaced by a symlink", () => {
  it("after the check, and restored once the container has it, is refused before the agent starts", async () => {
    const engine = await createTamperingEngine({ home: process.env["HOME"] ?? "/root", hostEnv: process.env });
    if (engine === undefined) throw new Error("The test needs an engine on a unix socket.");
    await using _ = engine;
    await using place = createDockerPlace();
    const project = createProject(place);
    // A check of the path only would succeed.
    engine.tamper({ before: project.swap, after: project.restore });
    const session = await openSession(place, engine.hostEnv);

    const refused = run(session, project.path, "cat key; touch began");

    await expect(refused).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining("was exchanged since it was checked"),
    });
    expect(engine.starts()).toBe(1);
    expect([join(project.path, "began"), join(project.secrets, "began")].filter((path) => existsSync(path))).toEqual(
      [],
    );
    expect(await listTurns(session.id)).toEqual([]);
  });

  it("before the turn is refused without a container", async () => {
    await using place = createDockerPlace();
    const project = createProject(place);
    const session = await openSession(place, process.env);
    project.swap();

    await expect(run(session, project.path, "cat key")).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    expect(await listTurns(session.id)).toEqual([]);
  });

  it("again and again shows the agent the project or nothing", async () => {
    await using place = createDockerPlace();
    const project = createProject(place);
    const session = await openSession(place, process.env);
    const swapper = startSwapper(project, 60);
    const outcomes: string[] = [];
    const count = (outcome: string): number => outcomes.filter((other) => other === outcome).length;
    try {
      // Most turns are refused at once; those whose container was started count.
      while (outcomes.length < 500 && (count("the project") < 3 || count(SWAPPED) < 3)) {
        const outcome = await run(session, project.path, "cat key").then(
          ({ stdout }) => stdout,
          (error: Error) => (/was exchanged since it was checked/.test(error.message) ? SWAPPED : toCode(error)),
        );
        outcomes.push(outcome);
      }
    } finally {
      swapper.kill();
      await once(swapper, "close");
    }

    // Engines report a missing path with various errors.
    expect(new Set(outcomes)).not.toContain(SECRET);
    const known = ["the project", SWAPPED, "WORKSPACE_INVALID", "RUNNER_UNAVAILABLE"];
    expect(outcomes.filter((outcome) => !known.includes(outcome))).toEqual([]);
    expect(count("the project")).toBeGreaterThanOrEqual(3);
    expect(count(SWAPPED)).toBeGreaterThanOrEqual(3);
    // A turn's end may be reported before its container is removed.
    await expect.poll(() => listTurns(session.id), { timeout: 10_000 }).toEqual([]);
  });
});

describe("a workspace that is not replaced", () => {
  it("is mounted, even if its path was once a symlink's target", async () => {
    await using place = createDockerPlace();
    const project = createProject(place);
    project.swap();
    project.restore();
    const session = await openSession(place, process.env);

    expect((await run(session, project.path, "cat key")).stdout).toBe("the project");
  });
});

type Project = Swap & {
  readonly path: string;
  readonly aside: string;
  readonly secrets: string;
};

function createProject({ root }: DockerPlace): Project {
  const [path, aside, secrets] = [join(root, "project"), join(root, "project-aside"), join(root, "secrets")];
  for (const folder of [path, secrets]) mkdirSync(folder);
  writeFileSync(join(path, "key"), "the project");
  writeFileSync(join(secrets, "key"), SECRET);
  return {
    path,
    aside,
    secrets,
    ...createSwap(path, secrets),
  };
}

async function openSession(place: DockerPlace, hostEnv: NodeJS.ProcessEnv) {
  const { runner } = await place.createRunner({ hostEnv });
  return runner.openSession(createSessionId());
}

async function listTurns(session: string): Promise<readonly string[]> {
  const docker = await testEngine();
  const filters = { label: [`dev.budgie.session=${session}`, "dev.budgie.role=turn"] };
  return (await docker.listContainers({ all: true, filters })).map(({ Names }) => Names[0] ?? "?");
}

function toCode(error: Error): string {
  return "code" in error ? String(error.code) : error.message;
}

/** Swaps the paths in another process, for at most this many seconds. */
function startSwapper({ aside, path, secrets }: Project, seconds: number) {
  const program = `
    const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
    const [path, aside, secrets] = ${JSON.stringify([path, aside, secrets])};
    const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    for (const end = Date.now() + ${seconds * 1000}; Date.now() < end; ) {
      renameSync(path, aside);
      symlinkSync(secrets, path);
      pause(Math.random() * 20);
      unlinkSync(path);
      renameSync(aside, path);
      pause(Math.random() * 20);
    }`;
  return spawn(process.execPath, ["--eval", program], { stdio: "inherit" });
}
