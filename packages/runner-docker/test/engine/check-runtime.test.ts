import { describe, expect, it } from "vitest";
import { checkRuntime } from "../../src/engine/check-runtime.ts";

const docker = { name: "Docker", runtimes: ["runc", "runsc"] } as const;

describe("checkRuntime", () => {
  it.each([undefined, "runc", "runsc"])("accepts %s on an engine that has it", (runtime) => {
    expect(() => checkRuntime(docker, runtime)).not.toThrow();
  });

  it.each([
    [docker, '; it has "runc", "runsc".'],
    [{ name: "Docker", runtimes: [] } as const, "; it has none that it names."],
  ])("names what the engine has instead, in one line", (engine, found) => {
    expect(() => checkRuntime(engine, "kata")).toThrow(
      expect.objectContaining({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/^The engine has no runtime "kata"; .* leave the option "runtime" out\.$/),
      }),
    );
    expect(() => checkRuntime(engine, "kata")).toThrow(found);
  });

  it("accepts none on Podman, which would silently use its default", () => {
    const podman = { name: "Podman", runtimes: ["crun", "runsc"] } as const;

    expect(() => checkRuntime(podman, undefined)).not.toThrow();
    expect(() => checkRuntime(podman, "runsc")).toThrow(/^Podman does not take the runtime "runsc".*containers\.conf/);
  });
});
