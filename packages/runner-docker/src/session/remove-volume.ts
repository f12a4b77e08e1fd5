import type Docker from "dockerode";
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
