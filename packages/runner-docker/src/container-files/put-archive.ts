import { statusOf } from "../engine/docker-errors.ts";

/**
 * Has the engine unpack an archive, and again where somebody made one of its folders in the same moment: the engine looks
 * whether a folder is there, makes it, and gives up if it is there by then, as a mount point of the turn's container may be.
 * Unpacked again, the folder gets its owner and mode all the same.
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

// Docker 20.10's own words, seen in about one of 400 first turns on a loaded machine.
function isLostRace(error: unknown): boolean {
  return statusOf(error) === 500 && error instanceof Error && /mkdir \S+: file exists/.test(error.message);
}
