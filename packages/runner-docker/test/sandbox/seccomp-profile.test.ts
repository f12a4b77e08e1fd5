import { describe, expect, it } from "vitest";
import { SECCOMP_PROFILE, toSeccomp } from "../../src/sandbox/seccomp-profile.ts";

describe("toSeccomp", () => {
  it("gives Docker the profile itself, and Podman a file that has it", () => {
    expect(toSeccomp({ name: "Docker", protections: [] }, "/state/seccomp.json")).toBe(SECCOMP_PROFILE);
    expect(toSeccomp({ name: "Podman", protections: [] }, "/state/seccomp.json")).toBe("/state/seccomp.json");
  });

  it("gives none to an engine that would refuse it, having no seccomp", () => {
    const protections = [{ name: "seccomp", state: "missing", text: "", breaks: [] }] as const;

    expect(toSeccomp({ name: "Docker", protections }, "/state/seccomp.json")).toBeUndefined();
  });
});
