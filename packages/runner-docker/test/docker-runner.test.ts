import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOwner, type Runner } from "@budgie/core";
import { createDockerRunner } from "../src/docker-runner.ts";
import { createFakeEngine } from "./fake-engine.ts";

const LIMITS = { MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsQuota: true };
const SECCOMP = ["name=seccomp,profile=default"];

let stateDir: string;
beforeEach(() => void (stateDir = mkdtempSync(join(tmpdir(), "budgie-state-"))));
afterEach(() => rmSync(stateDir, { recursive: true }));

async function runnerOn(info: Readonly<Record<string, unknown>>): Promise<Runner> {
  await using fake = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": info,
    "GET /images/there/json": { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z" },
  });
  const owner = createOwner({ stateDir });
  const places = { stateDir, kiroDataDir: stateDir, home: stateDir };
  return await createDockerRunner({ image: "there", owner, ...places, hostEnv: fake.hostEnv });
}

async function noticesOn(info: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  return (await runnerOn(info)).notices;
}

describe("the capacity of a runner", () => {
  it("is that of the engine's machine", async () => {
    const { capacity } = await runnerOn({ ...LIMITS, NCPU: 12, MemTotal: 2 ** 35, SecurityOptions: SECCOMP });

    expect(capacity).toEqual({ cpus: 12, memoryBytes: 2 ** 35 });
  });
});

describe("the notices of a runner", () => {
  it("say which walls the engine does not hold up", async () => {
    const fine = await noticesOn({ ...LIMITS, SecurityOptions: SECCOMP });

    const unconfined = await noticesOn({ ...LIMITS, SecurityOptions: ["name=seccomp,profile=unconfined"] });
    const unlimited = await noticesOn({ ...LIMITS, MemoryLimit: false, SecurityOptions: SECCOMP });

    expect(unconfined).toEqual([...fine, expect.stringMatching(/without seccomp/)]);
    expect(unlimited).toEqual([...fine, expect.stringMatching(/cannot limit memory/)]);
  });

  it("leave out what only the doctor tells", async () => {
    const fine = await noticesOn({ ...LIMITS, SecurityOptions: [...SECCOMP, "name=apparmor", "name=rootless"] });

    expect(await noticesOn({ ...LIMITS, SwapLimit: false, SecurityOptions: SECCOMP })).toEqual(fine);
  });
});
