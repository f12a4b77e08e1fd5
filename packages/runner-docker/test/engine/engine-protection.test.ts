import { describe, expect, it } from "vitest";
import { checkProtections, listEngineProtections } from "../../src/engine/engine-protection.ts";

const LIMITS = { MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true };
const SECCOMP = { SecurityOptions: ["name=seccomp,profile=default"] };

describe("checkProtections", () => {
  it("accepts weak protections", () => {
    const protections = listEngineProtections({ ...LIMITS, ...SECCOMP, SwapLimit: false });

    expect(protections.filter(({ state }) => state === "weak").length).toBeGreaterThan(2);
    expect(() => checkProtections(protections, [])).not.toThrow();
  });

  it("names all missing protections and the option that accepts them", () => {
    expect(() => checkProtections(listEngineProtections({}), [])).toThrow(
      expect.objectContaining({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(
          /cannot limit memory.*without seccomp.* the option "acceptWeaker" limits,seccomp\.$/,
        ),
      }),
    );
  });

  it("accepts the missing protections in its list, and no others", () => {
    expect(() => checkProtections(listEngineProtections({}), ["limits", "seccomp"])).not.toThrow();
    expect(() => checkProtections(listEngineProtections({}), ["limits"])).toThrow(
      /^The engine runs containers without seccomp.* seccomp\.$/,
    );
    expect(() => checkProtections(listEngineProtections({}), ["seccomp"])).toThrow(
      /^The engine cannot limit.* the option "acceptWeaker" limits\.$/,
    );
  });
});
