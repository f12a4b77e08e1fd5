import type Docker from "dockerode";
import { inUseError } from "../copier/copy-errors.ts";
import { ignoreMissing, statusOf } from "../engine/to-budgie-error.ts";
import { timeLimit } from "../engine/with-timeout.ts";

/** Removes a volume, and ignores a missing one. Resolves to the reason if it has to stay. */
export async function removeVolume(volume: Docker.Volume): Promise<string | undefined> {
  try {
    await volume.remove(timeLimit());
  } catch (error) {
    // A container that was created meanwhile, such as by a budgie that resumed the session.
    if (statusOf(error) === 409) return "a container uses it";
    ignoreMissing(error);
  }
  return undefined;
}

/** Removes volumes, and ignores missing ones. Throws `RUNNER_UNAVAILABLE` for one that a container uses. */
export async function removeUnused(docker: Docker, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const inUse = await removeVolume(docker.getVolume(name));
    if (inUse !== undefined) throw inUseError(name, inUse);
  }
}
