import { platform } from "node:os";

/**
 * Returns true if sandboxes may be launched before their turns. Not on Podman, since 4.3 may take seconds to start or end a container beside
 * others. Not where containers run on another kernel, since a container that has waited is looked into again.
 */
export function mayLaunchAhead(engine: string): boolean {
  return engine !== "Podman" && platform() === "linux";
}
