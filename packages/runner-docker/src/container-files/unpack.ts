import { statusOf } from "../engine/to-budgie-error.ts";

/**
 * Calls `put`, which has the engine unpack an archive, and retries after a lost race: the engine checks whether a folder exists, creates
 * it, and fails if something else created it in between, such as a mount point of the turn's container. The retry still sets the folder's
 * owner and mode.
 */
export async function unpack(put: () => Promise<unknown>, folders: number): Promise<void> {
  for (let racesLeft = folders; ; racesLeft--) {
    try {
      await put();
      return;
    } catch (error) {
      if (racesLeft === 0 || !isLostRace(error)) throw error;
    }
  }
}

// The message of Docker 20.10, seen in about one of 400 first turns on a loaded machine.
function isLostRace(error: unknown): boolean {
  return statusOf(error) === 500 && error instanceof Error && /mkdir \S+: file exists/.test(error.message);
}
