import { describe, expect, it } from "vitest";
import { checkProtections, toEngineProtections } from "../../src/engine/engine-protections.ts";

const LIMITS = { MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true };
const SECCOMP = { SecurityOptions: ["name=seccomp,profile=default"] };

describe("checkProtections", () => {
  it("accepts weak protections", () => {
    const protections = toEngineProtections({ ...LIMITS, ...SECCOMP, SwapLimit: false });

    expect(protections.filter(({ state }) => state === "weak").length).toBeGreaterThan(2);
    expect(() => checkProtections(protections, [])).not.toThrow();
  });

  it("names all missing protections and the option that accepts them", () => {
    expect(() => checkProtections(toEngineProtections({}), [])).toThrow(
      expect.objectContaining({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(
          /cannot limit memory.*without seccomp.* the option "acceptWeaker" limits,seccomp\.$/,
        ),
      }),
    );
  });

  it("accepts the missing protections in its list, and no others", () => {
    expect(() => checkProtections(toEngineProtections({}), ["limits", "seccomp"])).not.toThrow();
    expect(() => checkProtections(toEngineProtections({}), ["limits"])).toThrow(
      /^The engine runs containers without seccomp.* seccomp\.$/,
    );
    expect(() => checkProtections(toEngineProtections({}), ["seccomp"])).toThrow(
      /^The engine cannot limit.* the option "acceptWeaker" limits\.$/,
    );
  });
});
