import { release } from "node:os";
import type Docker from "dockerode";
import { describe, expect, it } from "vitest";
import { createIdleContainers } from "@budgie/sandbox/egress";
import type { ContainerRoot, OpenRoot } from "@budgie/sandbox/proc";
import type { Engine } from "../../src/engine/engine.ts";
import { createProcAccess } from "../../src/session/proc-access.ts";
import type { SessionContainer } from "../../src/session/session-container.ts";

const HERE = {
  endpoint: { address: { socketPath: "/run/engine.sock" } },
  kernel: release(),
  system: "Linux",
  users: "same",
} as unknown as Engine;

/** Creates a session container that records its calls. */
function createFakeContainer({ isRunning = true } = {}) {
  const done: string[] = [];
  const container = { inspect: async () => ({ Id: "id", State: { Pid: 1 } }) } as unknown as Docker.Container;
  const sessionContainer = {
    handle: container,
    start: async () => void done.push("started"),
    stop: async () => void done.push("stopped"),
    isRunning: async () => isRunning,
  } as unknown as SessionContainer;
  return { sessionContainer, done };
}

function createSight(looks: OpenRoot, engine: Partial<Engine> = {}, runtime?: string) {
  const idleContainers = createIdleContainers({ idleMs: 60_000, most: 9 });
  return {
    idleContainers,
    visibility: createProcAccess({ engine: { ...HERE, ...engine }, runtime, idleContainers, openRoot: looks }),
  };
}

const ROOT: ContainerRoot = {
  path: "/",
  readMounts: async () => "",
  hasEnded: async () => false,
  [Symbol.asyncDispose]: async () => undefined,
};
const seeing: OpenRoot = async () => ROOT;

describe.skipIf(process.platform !== "linux")("the visibility of an engine's containers", () => {
  it("is decided once, by a session container, whatever later looks find", async () => {
    let looks = 0;
    const { visibility } = createSight(async () => (looks++ === 0 ? ROOT : undefined));
    const { done, sessionContainer } = createFakeContainer();

    expect([await visibility.decide(sessionContainer), await visibility.decide(sessionContainer)]).toEqual([
      true,
      true,
    ]);
    expect([looks, done]).toEqual([1, ["started", "stopped"]]);
  });

  it("waits until the kernel lets the session container be looked into", async () => {
    let looks = 0;
    const { visibility } = createSight(async () => (looks++ < 5 ? undefined : ROOT));

    expect(await visibility.decide(createFakeContainer().sessionContainer)).toBe(true);
  });

  it("keeps a session container running that a turn uses", async () => {
    const { idleContainers, visibility } = createSight(seeing);
    const { done, sessionContainer } = createFakeContainer();
    idleContainers.acquire(sessionContainer);

    await visibility.decide(sessionContainer);

    expect(done).toEqual(["started"]);
    idleContainers.forget(sessionContainer);
  });

  it("can be decided by the next turn when the engine failed", async () => {
    const { visibility } = createSight(seeing);
    const { sessionContainer } = createFakeContainer();
    const failing = { ...sessionContainer, start: () => Promise.reject(new Error("no engine")) };

    await expect(visibility.decide(failing)).rejects.toThrow("no engine");
    expect(await visibility.decide(sessionContainer)).toBe(true);
  });

  it("is false if the kernel hides a running session container", { timeout: 10_000 }, async () => {
    const { visibility } = createSight(async () => undefined);

    expect(await visibility.decide(createFakeContainer().sessionContainer)).toBe(false);
  });

  it("is not decided by a session container that has ended", { timeout: 10_000 }, async () => {
    let isBlind = true;
    const { visibility } = createSight(async () => (isBlind ? undefined : ROOT));

    await expect(visibility.decide(createFakeContainer({ isRunning: false }).sessionContainer)).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
    });
    isBlind = false;
    expect(await visibility.decide(createFakeContainer().sessionContainer)).toBe(true);
  });

  it("does not depend on the endpoint: an engine on this machine may listen on TCP", async () => {
    const address = { host: "127.0.0.1", port: 2375, protocol: "http", tls: undefined } as const;
    const { visibility } = createSight(seeing, {
      endpoint: { address, url: "tcp://127.0.0.1:2375", foundBy: "DOCKER_HOST" },
    });

    expect(await visibility.decide(createFakeContainer().sessionContainer)).toBe(true);
  });

  it.each([
    ["another kernel", { kernel: "other" }, undefined],
    ["Docker Desktop", { system: "Docker Desktop" }, undefined],
    ["a runtime with a kernel of its own", {}, "runsc"],
  ] as const)("is false with %s, without starting a container", async (_what, engine, runtime) => {
    const { visibility } = createSight(seeing, engine, runtime);
    const { done, sessionContainer } = createFakeContainer();

    expect(await visibility.decide(sessionContainer)).toBe(false);
    expect(done).toEqual([]);
  });
});
