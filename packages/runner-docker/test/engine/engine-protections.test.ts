import { describe, expect, it } from "vitest";
import { checkWalls, toEngineWalls } from "../../src/engine/engine-protections.ts";

const LIMITS = { MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true };
const SECCOMP = { SecurityOptions: ["name=seccomp,profile=default"] };

describe("checkWalls", () => {
  it("lets pass what is weak", () => {
    const walls = toEngineWalls({ ...LIMITS, ...SECCOMP, SwapLimit: false });

    expect(walls.filter(({ state }) => state === "weak").length).toBeGreaterThan(2);
    expect(() => checkWalls(walls, [])).not.toThrow();
  });

  it("names all that is missing, and how it is accepted", () => {
    expect(() => checkWalls(toEngineWalls({}), [])).toThrow(
      expect.objectContaining({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/cannot limit memory.*without seccomp.* --accept-weaker limits,seccomp\.$/),
      }),
    );
  });

  it("lets pass what was accepted, and nothing else", () => {
    expect(() => checkWalls(toEngineWalls({}), ["limits", "seccomp"])).not.toThrow();
    expect(() => checkWalls(toEngineWalls({}), ["limits"])).toThrow(
      /^The engine runs containers without seccomp.* seccomp\.$/,
    );
    expect(() => checkWalls(toEngineWalls({}), ["seccomp"])).toThrow(
      /^The engine cannot limit.* --accept-weaker limits\.$/,
    );
  });
});
