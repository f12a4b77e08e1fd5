import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SECCOMP_PROFILE } from "@budgie/sandbox/profile";
import { ensureSeccomp } from "../../src/sandbox/ensure-seccomp.ts";

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "budgie-seccomp-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

describe("ensureSeccomp", () => {
  it("returns the profile for Docker, and a file with it for Podman", () => {
    const file = ensureSeccomp({ name: "Podman", protections: [] }, stateDir);

    expect(ensureSeccomp({ name: "Docker", protections: [] }, stateDir)).toBe(SECCOMP_PROFILE);
    expect(readFileSync(file ?? "", "utf8")).toBe(SECCOMP_PROFILE);
  });

  it("returns none for an engine without seccomp, which would refuse it", () => {
    const protections = [{ name: "seccomp", state: "missing", text: "", breaks: [] }] as const;

    expect(ensureSeccomp({ name: "Docker", protections }, stateDir)).toBeUndefined();
  });
});
