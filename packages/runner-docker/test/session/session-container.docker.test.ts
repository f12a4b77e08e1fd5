import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type EgressPolicy, type RunnerSession } from "@budgie/core";
import { connectEngine } from "../../src/engine/engine.ts";
import { createDockerPlace, testEngine } from "../helpers/docker-place.ts";
import type { TestImage } from "../image/build-image.ts";
import { buildNodeImage, createWebServer, runWith, type WebServer } from "../proxy/egress-place.ts";
import { createEngineProxy } from "../helpers/engine-proxy.ts";
import { createTamperingEngine } from "../../../claims/src/docker/tampering-engine.ts";

const place = createDockerPlace();
let web: WebServer;
let image: TestImage;
let policy: EgressPolicy;
beforeAll(async () => {
  [web, image] = await Promise.all([createWebServer(), buildNodeImage()]);
  policy = { mode: "allowlist", hosts: [web.allowed("web.test")] };
});
afterAll(async () => {
  await web[Symbol.asyncDispose]();
  try {
    await place[Symbol.asyncDispose]();
  } finally {
    await image[Symbol.asyncDispose]();
  }
});

const says = async (session: RunnerSession, script = "ask web.test:8080"): Promise<string> =>
  (await runWith(session, place.workspace, { policy, script })).stdout;
const HELLO = expect.stringContaining("hello from web.test");
const sessionContainerOf = async ({ id }: RunnerSession) => (await testEngine()).getContainer(`budgie-session-${id}`);
const isLive = async (session: RunnerSession) => (await (await sessionContainerOf(session)).inspect()).State.Running;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error("It did not come to that in 15 s.");
    await sleep(50);
  }
}

describe("a session container", () => {
  it("does not run before a turn needs its network", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    await runWith(session, place.workspace, { policy: { mode: "none", hosts: [] }, script: "true" });
    expect(await isLive(session)).toBe(false);

    await says(session, "true");

    expect(await isLive(session)).toBe(true);
  });

  it("is stopped after a while without a turn, and started again for the next", async () => {
    const { runner } = await place.createRunner({ containerIdleMs: 300 });
    const session = await runner.openSession(createSessionId());
    expect(await says(session, "sleep 1; ask web.test:8080")).toEqual(HELLO);
    await until(async () => !(await isLive(session)));
    await session.appendFile("note", "kept");

    expect(await session.readFile("note")).toBe("kept");
    expect(await says(session)).toEqual(HELLO);
  });

  it("is stopped if there are too many, but never during a turn", async () => {
    const { runner } = await place.createRunner({ maxRunningContainers: 1 });
    const [first, second] = [await runner.openSession(createSessionId()), await runner.openSession(createSessionId())];
    const busy = says(first, "sleep 2; ask web.test:8080");
    await until(() => isLive(first));

    expect(await says(second)).toEqual(HELLO);
    expect([await isLive(first), await isLive(second)]).toEqual([true, true]);
    expect(await busy).toEqual(HELLO);
    expect(await says(second)).toEqual(HELLO);

    await until(async () => !(await isLive(first)));
    expect(await isLive(second)).toBe(true);
    expect(await says(first)).toEqual(HELLO);
  });

  it.each(["kill", "remove"] as const)("that somebody ended with %s is restored for the next turn", async (how) => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    await says(session, 'echo kept >"$HOME/note"');
    const sessionContainer = await sessionContainerOf(session);
    await (how === "kill" ? sessionContainer.kill() : sessionContainer.remove({ force: true }));

    expect(await says(session, 'cat "$HOME/note"; ask web.test:8080')).toMatch(/^kept\n.*hello from web\.test/s);
  });

  it("that is removed just before a turn joins it is created again", async ({ skip }) => {
    // Podman does not remove a container whose network another one has joined.
    skip((await connectEngine(process.env, process.env["HOME"] ?? "/root")).name === "Podman");
    const engine = await createTamperingEngine({ home: process.env["HOME"] ?? "/root", hostEnv: process.env });
    if (engine === undefined) throw new Error("The test needs an engine on a unix socket.");
    await using _ = engine;
    const { runner } = await place.createRunner({ hostEnv: engine.hostEnv });
    const session = await runner.openSession(createSessionId());
    let pendingRemovals = 0;
    engine.tamper({
      before: async () => {
        pendingRemovals++;
        await (await sessionContainerOf(session)).remove({ force: true });
      },
      after: () => undefined,
    });

    expect(await says(session)).toEqual(HELLO);
    expect(pendingRemovals).toBe(1);
    await runner.close();
  });
});

describe("a proxy socket", () => {
  it("is closed while no turn runs, and accessible to its user only", async () => {
    const { owner, runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const folder = join(place.stateDir, "sockets", owner.record.instance.slice(24));
    const ask = async (): Promise<string> => {
      const socket = connect(join(folder, "0/s"));
      socket.write("GET http://web.test:8080/ HTTP/1.1\r\nHost: web.test:8080\r\nConnection: close\r\n\r\n");
      return text(socket);
    };
    const turn = says(session, "sleep 2");
    await until(async () => existsSync(join(folder, "0/s")));
    const modes = [folder, join(folder, "0"), join(folder, "0/s")].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600]);
    await until(async () => (await ask()).includes("hello"));
    await turn;

    expect(await ask()).toMatch(/^HTTP\/1\.1 403 /);
  });

  it.each(["host", "container"] as const)(
    "is removed with its session, and all of a %s proxy's with budgie",
    async (placement) => {
      const docker = await testEngine();
      const { owner, runner } = await place.createRunner({ proxyPlacement: placement, image: image.name });
      const folder = join(place.stateDir, "sockets", owner.record.instance.slice(24));
      const filters = { label: [`dev.budgie.instance=${owner.record.instance}`] };
      const traces = async (): Promise<readonly string[]> => [
        ...(await docker.listContainers({ all: true, filters })).flatMap(({ Names }) => Names),
        ...(await docker.listVolumes({ filters })).Volumes.map(({ Name }) => Name),
        ...(existsSync(folder) ? readdirSync(folder) : []),
      ];
      const session = await runner.openSession(createSessionId());
      await says(session);
      expect((await traces()).length).toBeGreaterThan(3);

      await session.remove();
      expect((await traces()).filter((name) => !name.includes("budgie-proxy-"))).toEqual([]);
      await runner.close();
      expect(await traces()).toEqual([]);
      expect(existsSync(folder)).toBe(false);
    },
  );

  it.each(["host", "container"] as const)(
    "of a dead budgie on the %s is collected with its folder, volume and container",
    async (placement) => {
      const docker = await testEngine();
      const dead = await place.createRunner({ proxyPlacement: placement, image: image.name });
      const session = await dead.runner.openSession(createSessionId());
      await says(session);
      await dead.owner.release();
      const filters = { label: [`dev.budgie.instance=${dead.owner.record.instance}`] };
      const { runner } = await place.createRunner();

      const report = await runner.collectGarbage({ olderThanMs: 0, dryRun: false });

      const names = report.removed.map(({ name }) => name);
      expect(names).toContain(`budgie-session-${session.id}`);
      if (placement === "container") {
        const proxy = `budgie-proxy-${dead.owner.record.instance}`;
        expect(report.removed.filter(({ name }) => name === proxy).map(({ kind }) => kind)).toEqual([
          "container",
          "volume",
        ]);
      }
      expect(await docker.listContainers({ all: true, filters })).toEqual([]);
      expect((await docker.listVolumes({ filters })).Volumes).toEqual([]);
      expect(existsSync(join(place.stateDir, "sockets", dead.owner.record.instance.slice(24)))).toBe(false);
    },
  );
});

describe("a proxy in a container", () => {
  it("ends with the connection to budgie, and is created again for the next turn", async () => {
    await using engine = await createEngineProxy();
    const docker = await testEngine();
    const options = { proxyPlacement: "container", image: image.name, hostEnv: engine.hostEnv } as const;
    const { owner, runner } = await place.createRunner(options);
    const session = await runner.openSession(createSessionId());
    const proxy = docker.getContainer(`budgie-proxy-${owner.record.instance}`);
    expect(await says(session)).toEqual(HELLO);
    expect((await proxy.inspect()).State.Running).toBe(true);

    engine.cut();

    await until(async () => !(await proxy.inspect()).State.Running);
    expect(await says(session)).toEqual(HELLO);
    expect((await proxy.inspect()).State.Running).toBe(true);
    await runner.close();
  });

  it("that ended by itself is removed with budgie, and so is its volume", async () => {
    const docker = await testEngine();
    const { owner, runner } = await place.createRunner({ proxyPlacement: "container", image: image.name });
    const filters = { label: [`dev.budgie.instance=${owner.record.instance}`] };
    expect(await says(await runner.openSession(createSessionId()))).toEqual(HELLO);
    const proxy = docker.getContainer(`budgie-proxy-${owner.record.instance}`);
    await proxy.kill();
    await until(async () => !(await proxy.inspect()).State.Running);

    await runner.close();

    expect(await docker.listContainers({ all: true, filters })).toEqual([]);
    expect((await docker.listVolumes({ filters })).Volumes).toEqual([]);
  });
});
