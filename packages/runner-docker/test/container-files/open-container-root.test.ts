import { readFileSync } from "node:fs";
import type Docker from "dockerode";
import { describe, expect, it } from "vitest";
import type { ContainerRoot } from "@budgie/sandbox/proc";
import { openContainerRoot } from "../../src/container-files/open-container-root.ts";

function toContainer(Id: string, Pid: number): Docker.Container {
  return { inspect: async () => ({ Id, State: { Pid } }) } as unknown as Docker.Container;
}

// A process that sees the host's mounts also sees those of containers, with their ids. Here the id is any mount that it sees.
function mountSeenBy(pid: number): string {
  return readFileSync(`/proc/${pid}/mountinfo`, "utf8").trim().split("\n").at(-1)?.split(" ")[4] ?? "";
}

describe.skipIf(process.platform !== "linux")("openContainerRoot", () => {
  it("rejects a process that is not the first of a container, whatever mounts it sees", async () => {
    expect(await openContainerRoot(toContainer(mountSeenBy(process.pid), process.pid))).toBeUndefined();
  });

  it("returns nothing if no process here has the engine's pid", async () => {
    expect(await openContainerRoot(toContainer("id", 2 ** 30))).toBeUndefined();
  });
});

describe("a look that the kernel refuses", () => {
  const ROOT = { path: "/nowhere" } as ContainerRoot;

  /** Fails a number of times, like a look before the runtime has executed the container's program. */
  function toFailing(times: number) {
    let looks = 0;
    const openRoot = async () => (looks++ < times ? undefined : ROOT);
    return { openRoot, looks: () => looks };
  }

  it("is repeated until its timeout", async () => {
    const { openRoot, looks } = toFailing(5);

    expect(await openContainerRoot(toContainer("id", 1), { openRoot, timeoutMs: 60_000 })).toBe(ROOT);
    expect(looks()).toBe(6);
  });

  it("is made once without a process, such as in a container that has ended", async () => {
    const [without, ended] = [toFailing(5), toFailing(5)];

    expect(await openContainerRoot(toContainer("id", 1), without)).toBeUndefined();
    expect(await openContainerRoot(toContainer("id", 0), { ...ended, timeoutMs: 60_000 })).toBeUndefined();
    expect([without.looks(), ended.looks()]).toEqual([1, 1]);
  });

  it("is given up at its timeout", async () => {
    const { openRoot, looks } = toFailing(Infinity);

    expect(await openContainerRoot(toContainer("id", 1), { openRoot, timeoutMs: 50 })).toBeUndefined();
    expect(looks()).toBeGreaterThan(1);
  });
});

describe("a run that was seen before", () => {
  const ROOT = { path: "/nowhere" } as ContainerRoot;
  const lastRun = () => ({ id: "old", pid: 7 });

  it("is looked into without the engine", async () => {
    const engine = { inspect: () => Promise.reject(new Error("The engine was asked.")) } as unknown as Docker.Container;
    const openRoot = async (pid: number, id: string) => (pid === 7 && id === "old" ? ROOT : undefined);

    expect(await openContainerRoot(engine, { lastRun, openRoot })).toBe(ROOT);
  });

  it("that is over is replaced by the engine's answer", async () => {
    const openRoot = async (pid: number, id: string) => (pid === 8 && id === "new" ? ROOT : undefined);

    expect(await openContainerRoot(toContainer("new", 8), { lastRun, openRoot })).toBe(ROOT);
  });
});
