import { describe, expect, it } from "vitest";
import { checkReach } from "../../src/egress/check-reach.ts";

describe("checkReach", () => {
  it.each(["runsc", "runsc-kvm", "io.containerd.runsc.v1", "kata", "io.containerd.kata.v2"])(
    "refuses %s",
    (runtime) => {
      expect(() => checkReach(runtime)).toThrow(
        expect.objectContaining({
          code: "CONFIG_INVALID",
          message: expect.stringMatching(new RegExp(`^With the runtime "${runtime}", no program in a sandbox reaches`)),
        }),
      );
    },
  );

  it.each([undefined, "runc", "crun", "io.containerd.runc.v2"])("accepts %s", (runtime) => {
    expect(() => checkReach(runtime)).not.toThrow();
  });
});
