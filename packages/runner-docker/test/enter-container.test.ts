import { readFileSync } from "node:fs";
import type Docker from "dockerode";
import { describe, expect, it } from "vitest";
import { enterContainer } from "../src/enter-container.ts";

function toContainer(Id: string, Pid: number): Docker.Container {
  return { inspect: async () => ({ Id, State: { Pid } }) } as unknown as Docker.Container;
}

// What mounts the host's directories sees the mounts of its containers, by their ids: here the id is any of what it sees.
function mountSeenBy(pid: number): string {
  return readFileSync(`/proc/${pid}/mountinfo`, "utf8").trim().split("\n").at(-1)?.split(" ")[4] ?? "";
}

describe.skipIf(process.platform !== "linux")("entering a container", () => {
  it("is not done through a process that is not the first of a container, whatever mounts it sees", async () => {
    expect(await enterContainer(toContainer(mountSeenBy(process.pid), process.pid))).toBeUndefined();
  });

  it("is not done where the engine's number is nobody's here", async () => {
    expect(await enterContainer(toContainer("id", 2 ** 30))).toBeUndefined();
  });
});
