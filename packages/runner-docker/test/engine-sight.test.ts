import { release } from "node:os";
import type Docker from "dockerode";
import { describe, expect, it } from "vitest";
import type { Engine } from "../src/engine.ts";
import { createEngineSight } from "../src/engine-sight.ts";
import type { ContainerRoot, LookInto } from "../src/enter-container.ts";
import type { Holder } from "../src/holder.ts";
import { createLiveHolders } from "../src/live-holders.ts";

const HERE = {
  endpoint: { address: { socketPath: "/run/engine.sock" } },
  kernel: release(),
  system: "Linux",
  users: "same",
} as unknown as Engine;

/** A holder that tells what is done with it. */
function createFakeHolder() {
  const done: string[] = [];
  const container = { inspect: async () => ({ Id: "id", State: { Pid: 1 } }) } as unknown as Docker.Container;
  const holder = {
    container,
    start: async () => void done.push("started"),
    stop: async () => void done.push("stopped"),
  } as unknown as Holder;
  return { holder, done };
}

function createSight(looks: LookInto, engine: Partial<Engine> = {}, runtime?: string) {
  const live = createLiveHolders({ idleMs: 60_000, most: 9 });
  return { live, sight: createEngineSight({ engine: { ...HERE, ...engine }, runtime, live, lookInto: looks }) };
}

const ROOT: ContainerRoot = {
  path: "/",
  readMounts: async () => "",
  hasEnded: async () => false,
  [Symbol.asyncDispose]: async () => undefined,
};
const seeing: LookInto = async () => ROOT;

describe.skipIf(process.platform !== "linux")("the sight of an engine", () => {
  it("is decided by a holder, once, and whatever becomes of later looks", async () => {
    let looks = 0;
    const { sight } = createSight(async () => (looks++ === 0 ? ROOT : undefined));
    const { done, holder } = createFakeHolder();

    expect([await sight.decide(holder), await sight.decide(holder)]).toEqual([true, true]);
    expect([looks, done]).toEqual([1, ["started", "stopped"]]);
  });

  it("waits until the kernel lets the holder be looked into", async () => {
    let looks = 0;
    const { sight } = createSight(async () => (looks++ < 5 ? undefined : ROOT));

    expect(await sight.decide(createFakeHolder().holder)).toBe(true);
  });

  it("leaves a holder running that a turn is in", async () => {
    const { live, sight } = createSight(seeing);
    const { done, holder } = createFakeHolder();
    live.enter(holder);

    await sight.decide(holder);

    expect(done).toEqual(["started"]);
    live.forget(holder);
  });

  it("can be decided by the next turn when the engine failed", async () => {
    const { sight } = createSight(seeing);
    const { holder } = createFakeHolder();
    const failing = { ...holder, start: () => Promise.reject(new Error("no engine")) };

    await expect(sight.decide(failing)).rejects.toThrow("no engine");
    expect(await sight.decide(holder)).toBe(true);
  });

  it.each([
    ["another kernel", { kernel: "other" }, undefined],
    ["Docker Desktop", { system: "Docker Desktop" }, undefined],
    ["a runtime with a kernel of its own", {}, "runsc"],
  ] as const)("is none with %s, and nothing is started for that", async (_what, engine, runtime) => {
    const { sight } = createSight(seeing, engine, runtime);
    const { done, holder } = createFakeHolder();

    expect(await sight.decide(holder)).toBe(false);
    expect(done).toEqual([]);
  });
});
