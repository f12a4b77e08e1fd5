import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOwner, type Runner } from "@budgie/core";
import { createDockerRunner } from "../src/docker-runner.ts";
import type { Weaker } from "../src/engine/engine-protection.ts";
import { createFakeEngine, WHOLE_ENGINE } from "./helpers/fake-engine.ts";

let stateDir: string;
beforeEach(() => void (stateDir = mkdtempSync(join(tmpdir(), "budgie-state-"))));
afterEach(() => rmSync(stateDir, { recursive: true }));

type Info = Partial<Record<keyof typeof WHOLE_ENGINE | "DockerRootDir" | "NCPU" | "MemTotal", unknown>>;

async function runnerOn(changes: Info, acceptWeaker?: readonly Weaker[]): Promise<Runner> {
  await using fake = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": { ...WHOLE_ENGINE, ...changes },
    "GET /images/there/json": { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z" },
  });
  const owner = createOwner({ stateDir });
  const places = { stateDir, home: stateDir };
  return await createDockerRunner({ image: "there", owner, ...places, hostEnv: fake.hostEnv, acceptWeaker });
}

describe("the capacity of a runner", () => {
  it("is that of the engine's machine", async () => {
    const { capacity } = await runnerOn({ NCPU: 12, MemTotal: 2 ** 35 });

    expect(capacity).toEqual({ cpus: 12, memoryBytes: 2 ** 35 });
  });
});

describe("the guarded paths of a runner", () => {
  it("include the engine's data folder, if it reports it", async () => {
    const { guarded } = await runnerOn({ DockerRootDir: "/data/docker" });
    const silent = await runnerOn({});

    expect(guarded).toContainEqual({ path: "/data/docker", what: "the container engine's own files" });
    expect(silent.guarded.map(({ what }) => what)).not.toContain("the container engine's own files");
  });
});

describe("a runner on an engine that lacks a protection", () => {
  it("is not created, and the error has the remedy", async () => {
    await expect(runnerOn({ MemoryLimit: false })).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/cannot limit memory .* the option "acceptWeaker" limits\.$/),
    });
  });

  it("is created if that was accepted, with a notice in every result", async () => {
    const fine = (await runnerOn({})).notices;
    const unlimited = { MemoryLimit: false };
    const unconfined = { SecurityOptions: ["name=apparmor"] };

    const { notices } = await runnerOn({ ...unlimited, ...unconfined }, ["limits", "seccomp"]);

    expect(notices).toEqual([
      ...fine,
      expect.stringMatching(/cannot limit memory/),
      expect.stringMatching(/without seccomp/),
    ]);
    await expect(runnerOn({ ...unlimited, ...unconfined }, ["seccomp"])).rejects.toThrow(
      /the option "acceptWeaker" limits\.$/,
    );
  });
});

describe("a runner on an engine with a weak protection", () => {
  it("is created without a notice, which only the doctor prints", async () => {
    const fine = (await runnerOn({ SecurityOptions: ["name=seccomp", "name=apparmor", "name=rootless"] })).notices;

    expect((await runnerOn({ SwapLimit: false })).notices).toEqual(fine);
  });
});
