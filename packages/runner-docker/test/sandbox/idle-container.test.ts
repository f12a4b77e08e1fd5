import { expect, it } from "vitest";
import { toIdleContainer } from "../../src/sandbox/container-options.ts";

it("a container for inspection exits at once if somebody starts it", () => {
  const { Cmd, Entrypoint, HostConfig } = toIdleContainer("sha256:abc", {});
  expect([Entrypoint, Cmd]).toEqual([["/bin/sh"], ["-c", "exit 0"]]);
  const profile = [HostConfig?.Init, HostConfig?.NetworkMode, HostConfig?.CapDrop, HostConfig?.SecurityOpt];
  expect(profile).toEqual([true, "none", ["ALL"], ["no-new-privileges"]]);
});
