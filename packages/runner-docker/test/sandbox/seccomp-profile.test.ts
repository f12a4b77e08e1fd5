import { describe, expect, it } from "vitest";
import { SECCOMP_PROFILE, toSeccomp } from "../../src/sandbox/seccomp-profile.ts";

describe("toSeccomp", () => {
  it("returns the profile for Docker, and its file for Podman", () => {
    expect(toSeccomp({ name: "Docker", protections: [] }, "/state/seccomp.json")).toBe(SECCOMP_PROFILE);
    expect(toSeccomp({ name: "Podman", protections: [] }, "/state/seccomp.json")).toBe("/state/seccomp.json");
  });

  it("returns none for an engine without seccomp, which would refuse it", () => {
    const protections = [{ name: "seccomp", state: "missing", text: "", breaks: [] }] as const;

    expect(toSeccomp({ name: "Docker", protections }, "/state/seccomp.json")).toBeUndefined();
  });
});
