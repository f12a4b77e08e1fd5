import { rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import { createSessionId, type SessionId } from "@budgie/core";
import { buildImage } from "./image/build-image.ts";
import { createEngineProxy } from "./helpers/engine-proxy.ts";
import { BASE_IMAGE, createDockerPlace, run, testEngine } from "./helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

const FOREVER = { argv: ["sh", "-c", "sleep 1000"], env: {}, projections: [] } as const;

async function traces(id: SessionId): Promise<readonly string[]> {
  const docker = await testEngine();
  const filters = { label: [`dev.budgie.session=${id}`] };
  const [containers, { Volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ]);
  return [...containers.map(({ Names }) => Names[0] ?? ""), ...Volumes.map(({ Name }) => Name)];
}

describe("creating a runner", () => {
  it("fails at once, in one line, without an engine", async () => {
    const started = performance.now();

    await expect(place.createRunner({ hostEnv: { DOCKER_HOST: "unix:///nonexistent" } })).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(
        /^Cannot reach .*unix:\/\/\/nonexistent \(from DOCKER_HOST\): nothing listens there\..*$/,
      ),
    });
    // It waits 15 s for an engine that does not answer.
    expect(performance.now() - started).toBeLessThan(14_000);
  });

  it.each([
    ["budgie-no-such-image:latest", "budgie build-image"],
    ["No Such Image", "budgie build-image"],
    // As the images of projects are named
    ["sha256:0000", "budgie image build"],
  ])("fails without the image %j, and names the command %j", async (image, command) => {
    await expect(place.createRunner({ image })).rejects.toMatchObject({
      code: "IMAGE_NOT_FOUND",
      message: expect.stringMatching(new RegExp(`"${image}".*"${command}"`)),
    });
  });
});

describe("a session", () => {
  it("that cannot be created leaves nothing, and reports the reason", async () => {
    const { runner } = await place.createRunner();
    const id = createSessionId();
    const docker = await testEngine();
    const taken = await docker.createContainer({ name: `budgie-session-${id}`, Image: BASE_IMAGE, Cmd: ["true"] });

    await expect(runner.openSession(id)).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining(`budgie-session-${id}`),
    });

    // The remains of a refused call are removed in the background.
    await expect.poll(() => traces(id)).toEqual([]);
    await expect(runner.close()).resolves.toBeUndefined();
    await taken.remove();
  });

  it("whose image was removed runs nothing, reports the reason, and can be removed", async () => {
    const image = await buildImage(`FROM ${BASE_IMAGE}\nLABEL made=to-be-removed`);
    const { runner } = await place.createRunner({ image: image.name });
    await image[Symbol.asyncDispose]();
    const session = await runner.openSession(createSessionId());

    await expect(session.start(FOREVER, { directory: place.workspace, input: "" })).rejects.toMatchObject({
      code: "IMAGE_NOT_FOUND",
    });

    await session.remove();
    expect(await traces(session.id)).toEqual([]);
  });

  it.each([0, 30, 100, 200])(
    "that is removed %i ms after a start began leaves nothing, and aborts that start",
    async (delayMs) => {
      const { runner } = await place.createRunner();
      const session = await runner.openSession(createSessionId());
      const starting = session.start(FOREVER, { directory: place.workspace, input: "" });
      const ended = starting.then(
        async ({ exit }) => (await exit).reason,
        (error: { code?: string }) => error.code,
      );
      await sleep(delayMs);

      await session.remove();

      expect(await traces(session.id)).toEqual([]);
      expect(["shutdown", "CANCELLED"]).toContain(await ended);
    },
  );

  it("that was removed starts no process", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    await session.remove();

    await expect(session.start(FOREVER, { directory: place.workspace, input: "" })).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
    expect(await traces(session.id)).toEqual([]);
  });

  it("gets a new session container after somebody pruned stopped containers", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    await run(session, place.workspace, 'echo kept > "$HOME/note"');
    await (await testEngine()).getContainer(`budgie-session-${session.id}`).remove();

    expect((await run(session, place.workspace, 'cat "$HOME/note"')).stdout).toBe("kept\n");
    expect(await session.readFile("note")).toBe("kept\n");
    await session.remove();
    expect(await traces(session.id)).toEqual([]);
  });
});

describe("a turn", () => {
  it("continues, and reports its true end, if the connection to the engine breaks in a live conversation", async () => {
    await using proxy = await createEngineProxy();
    const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
    const session = await runner.openSession(createSessionId());
    const child = await session.start(
      { argv: ["sh", "-c", "sleep 2; exit 7"], env: {}, projections: [] },
      { directory: place.workspace },
    );
    child.stdout.resume();
    child.stderr.resume();
    await sleep(300);

    proxy.cut();

    expect((await child.exit).exitCode).toBe(7);
    await runner.close();
  });

  it("whose container somebody removed is reported as killed or crashed", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const child = await session.start(FOREVER, { directory: place.workspace, input: "" });
    const docker = await testEngine();
    const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=turn"] };
    const [found] = await docker.listContainers({ filters });

    await docker.getContainer(found?.Id ?? "").remove({ force: true });

    // The engine kills a container before it removes it, and may be asked in between.
    const told = await child.exit.then(
      ({ signal }) => signal,
      (error: { code?: string }) => error.code,
    );
    expect(["AGENT_CRASHED", "SIGKILL"]).toContain(told);
  });
});

describe("a runner whose engine stopped", () => {
  it("reports it in one line for every request", async () => {
    const proxy = await createEngineProxy();
    // Closing this runner fails, so its place is never closed.
    const lost = createDockerPlace();
    const { owner, runner } = await lost.createRunner({ hostEnv: proxy.hostEnv });
    const session = await runner.openSession(createSessionId());
    await proxy[Symbol.asyncDispose]();

    const calls = [
      () => runner.listSessions(),
      () => runner.collectGarbage({ olderThanMs: 0, dryRun: true }),
      () => runner.openSession(createSessionId()),
      () => run(session, place.workspace, "true"),
      () => session.readFile("note"),
      () => session.appendFile("note", "x"),
      () => runner.close(),
    ];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/^The engine cannot be reached any more [^\n]*Start it again\.[^\n]*$/),
      });
    }
    await owner.release();
    rmSync(lost.root, { recursive: true });
    const docker = await testEngine();
    await docker.getContainer(`budgie-session-${session.id}`).remove();
    for (const ending of ["", "-auth"]) await docker.getVolume(`budgie-session-${session.id}${ending}`).remove();
  });
});
