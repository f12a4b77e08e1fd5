import type Docker from "dockerode";
import { describe, expect, it } from "vitest";
import type { ContainerRoot } from "@budgie/sandbox/proc";
import { openConfirmedRoot } from "../../src/turn/open-confirmed-root.ts";

/** Creates a container that the engine reports as running `reportsRunning` times, and whose process no longer shows mounts. */
function createContainer(reportsRunning: number) {
  let reports = 0;
  const State = () => ({ Pid: 1234, Running: reports++ < reportsRunning });
  return { inspect: async () => ({ Id: "x", State: State() }) } as unknown as Docker.Container;
}

const root: ContainerRoot = {
  path: "/nowhere",
  readMounts: async () => "",
  hasEnded: async () => false,
  [Symbol.asyncDispose]: async () => undefined,
};
const held = {
  mounts: [{ settings: { type: "volume", source: "x", target: "/home", isReadOnly: false } }],
  absent: [],
} as unknown as Parameters<typeof openConfirmedRoot>[1];
const look = { isRequired: true, openRoot: async () => root };

describe("a container whose mounts cannot be confirmed", () => {
  it("is left to its exit code if it ends in the next moments", async () => {
    expect(await openConfirmedRoot(createContainer(4), held, look)).toBeUndefined();
  });

  it("is refused if it keeps running", async () => {
    await expect(openConfirmedRoot(createContainer(Infinity), held, look)).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(`"/home" was exchanged`),
    });
  });
});
