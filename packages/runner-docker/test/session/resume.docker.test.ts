import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createSessionId, type Runner, type SessionId } from "@budgie/core";
import type Docker from "dockerode";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { toLabels } from "../../src/engine/to-labels.ts";
import { createRewritingEngine } from "../../../claims/test/helpers/rewriting-engine.ts";
import { BASE_IMAGE, createDockerPlace, run, runCommand, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

describe("a volume with the name of a kept home", () => {
  const ours = { "dev.budgie": "1", "dev.budgie.role": "home" };
  it.each([
    ["no labels", {}, {}],
    ["another role", { "dev.budgie.role": "auth" }, {}],
    ["another session", { "dev.budgie.session": createSessionId() }, {}],
    ["a place on the host", {}, { type: "none", o: "bind", device: "/etc" }],
  ])("is not opened with %s, and stays", async (what, labels, DriverOpts) => {
    const docker = await testEngine();
    const id = createSessionId();
    const Name = `budgie-session-${id}`;
    const all = what === "no labels" ? {} : { ...ours, "dev.budgie.session": id, ...labels };
    await docker.createVolume({ Name, Labels: all, Driver: "local", DriverOpts });
    const { runner } = await place.createRunner();
    try {
      await expect(runner.resumeSession(id)).rejects.toMatchObject({
        code: "SESSION_NOT_FOUND",
        message: expect.stringContaining(`The volume "${Name}" is not one that budgie made`),
      });

      expect((await docker.getVolume(Name).inspect()).Name).toBe(Name);
      expect(await docker.listContainers({ all: true, filters: { label: [`dev.budgie.session=${id}`] } })).toEqual([]);
    } finally {
      await docker.getVolume(Name).remove();
    }
  });
});

describe("a kept home", () => {
  it.each([
    ["with a link where something is mounted", 'ln -s /workspace/leak "$HOME/.kiro/steering"', "SESSION_UNUSABLE"],
    ["with a folder there", 'mkdir "$HOME/.kiro/steering"', undefined],
  ])("counts as used by an agent: %s", async (_what, plant, code) => {
    const steering = join(place.root, "steering");
    const directory = join(place.root, `workspace-${code}`);
    for (const folder of [steering, directory, join(directory, "leak")]) mkdirSync(folder, { recursive: true });
    const id = await leave(directory, `mkdir -p "$HOME/.kiro"; ${plant}`);
    const session = await (await place.createRunner()).runner.resumeSession(id);
    const command = { argv: ["true"], env: {}, projections: [{ source: steering, home: ".kiro/steering" }] } as const;

    const outcome = await runCommand(session, command, { directory }).then(
      ({ exit }) => exit.exitCode,
      (error) => error.code,
    );

    expect(outcome).toBe(code ?? 0);
    expect(readdirSync(join(directory, "leak"))).toEqual([]);
  });
});

describe("a session that is resumed", () => {
  it("keeps the container that exports its home", async () => {
    const id = await leave(makeWorkspace(), "true");
    const reader = await createContainer(id, "reader");
    const { runner } = await place.createRunner();

    const session = await runner.resumeSession(id);
    const there = (await reader.inspect()).Id;
    await session.remove();

    expect(there).toBe(reader.id);
    await expect(reader.inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  it("keeps what another budgie created that resumes it at the same time", async () => {
    const docker = await testEngine();
    const id = await leave(makeWorkspace(), "true");
    const other = { instance: "other", host: "here", lock: "/nowhere/lock" };
    const Labels = toLabels(other, id, "session");
    let theirs: Docker.Container | undefined;
    await using engine = await createRewritingEngine(
      async () => {
        theirs ??= await docker.createContainer({ name: `budgie-session-${id}`, Image: BASE_IMAGE, Labels });
      },
      { role: "session" },
    );
    const { runner } = await place.createRunner({ keepSessionsMs: 3_600_000, hostEnv: engine.hostEnv });

    await expect(runner.resumeSession(id)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });

    const auth = docker.getVolume(`budgie-session-${id}-auth`);
    expect([(await theirs?.inspect())?.Id, (await auth.inspect()).Name]).toEqual([theirs?.id, auth.name]);
    await runner.close();
    await theirs?.remove();
    await (await (await place.createRunner()).runner.resumeSession(id)).remove();
  });

  it("leaves only its home on the engine if that fails", async () => {
    const docker = await testEngine();
    const id = await leave(makeWorkspace(), "true");
    // A container of that name belongs to another program.
    const Image = BASE_IMAGE;
    const taken = await docker.createContainer({ name: `budgie-session-${id}`, Image, Cmd: ["true"] });
    const { runner } = await place.createRunner({ keepSessionsMs: 3_600_000 });
    const failed = await runner.resumeSession(id).catch((error: unknown) => error);
    const left = (await docker.listVolumes()).Volumes.map(({ Name }) => Name).filter((name) => name.includes(id));
    const there = await taken.inspect();
    await taken.remove();

    expect(failed).toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining(`"docker rm -f budgie-session-${id}"`),
    });
    expect(there.Id).toBe(taken.id);
    expect(left).toEqual([`budgie-session-${id}`]);
    await (await runner.resumeSession(id)).remove();
  });
});

function makeWorkspace(): string {
  const folder = join(place.root, `workspace-${createSessionId()}`);
  mkdirSync(folder);
  return folder;
}

/** Creates a live owner's container that mounts a session's home. */
async function createContainer(id: SessionId, role: "reader"): Promise<Docker.Container> {
  const { owner } = await place.createRunner();
  await owner.hold();
  const docker = await testEngine();
  const container = await docker.createContainer({
    Image: BASE_IMAGE,
    Cmd: ["true"],
    Labels: toLabels(owner.record, id, role),
    HostConfig: { Mounts: [{ Type: "volume", Source: `budgie-session-${id}`, Target: "/home", ReadOnly: true }] },
  });
  onTestFinished(() => container.remove({ force: true }).catch(() => undefined));
  return container;
}

/** Creates a session whose owner is dead. */
async function leave(directory: string, script: string): Promise<SessionId> {
  const { owner, runner }: { owner: { release(): Promise<void> }; runner: Runner } = await place.createRunner({
    keepSessionsMs: 3_600_000,
  });
  const session = await runner.openSession(createSessionId());
  const { exit, stderr } = await run(session, directory, script);
  expect({ exitCode: exit.exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  await runner.close();
  await owner.release();
  return session.id;
}
