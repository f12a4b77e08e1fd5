import { describe, expect, it } from "vitest";
import { checkProtections, toEngineProtections } from "../../src/engine/engine-protections.ts";

const LIMITS = { MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true };
const SECCOMP = { SecurityOptions: ["name=seccomp,profile=default"] };

describe("checkWalls", () => {
  it("lets pass what is weak", () => {
    const protections = toEngineProtections({ ...LIMITS, ...SECCOMP, SwapLimit: false });

    expect(protections.filter(({ state }) => state === "weak").length).toBeGreaterThan(2);
    expect(() => checkProtections(protections, [])).not.toThrow();
  });

  it("names all that is missing, and how it is accepted", () => {
    expect(() => checkProtections(toEngineProtections({}), [])).toThrow(
      expect.objectContaining({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/cannot limit memory.*without seccomp.* --accept-weaker limits,seccomp\.$/),
      }),
    );
  });

  it("lets pass what was accepted, and nothing else", () => {
    expect(() => checkProtections(toEngineProtections({}), ["limits", "seccomp"])).not.toThrow();
    expect(() => checkProtections(toEngineProtections({}), ["limits"])).toThrow(
      /^The engine runs containers without seccomp.* seccomp\.$/,
    );
    expect(() => checkProtections(toEngineProtections({}), ["seccomp"])).toThrow(
      /^The engine cannot limit.* --accept-weaker limits\.$/,
    );
  });
});
