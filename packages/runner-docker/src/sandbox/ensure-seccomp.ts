import { join } from "node:path";
import { ensureMountedFile } from "@budgie/core";
import { SECCOMP_PROFILE } from "@budgie/sandbox/profile";
import type { Engine } from "../engine/engine.ts";

/** Returns the profile, or for Podman its file, which is written if it is missing; `undefined` if the engine has no seccomp. */
export function ensureSeccomp(
  { name, protections }: Pick<Engine, "name" | "protections">,
  stateDir: string,
): string | undefined {
  if (protections.some((protection) => protection.name === "seccomp" && protection.state === "missing"))
    return undefined;
  return name === "Podman"
    ? ensureMountedFile(join(stateDir, "sandbox"), "seccomp.json", SECCOMP_PROFILE)
    : SECCOMP_PROFILE;
}
