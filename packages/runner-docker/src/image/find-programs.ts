import { BudgieError } from "@budgie/core";
import { volumeMount, type VolumeMount } from "@budgie/sandbox/mounts";
import type { Engine } from "../engine/engine.ts";
import { findSharedVolume } from "../engine/find-own.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { PROGRAMS, type SandboxImage } from "./find-image.ts";
import { printInImage, type Printing } from "./print-in-image.ts";

/** Returns an image's `PATH` with the programs beside it, which come last: they replace none of its own. */
export function addPrograms(path: string): string {
  return `${path}:${PROGRAMS}/bin`;
}

/** The label of a volume with an image's programs: the image's id. */
export const PROGRAMS_LABEL = "dev.budgie-programs.image";

type Filling = Omit<Printing, "command" | "image" | "limitMs" | "mounts" | "user"> & {
  /** An image with programs that run in others too */
  readonly image: SandboxImage;
};

/** Returns the mount of the agents' programs for a sandbox of an image; `undefined` if the image has its own, or there are none. */
export type FindPrograms = (image: SandboxImage) => Promise<VolumeMount | undefined>;

/** Creates the function that finds the programs beside an image; it fills their volume once. */
export function createFindPrograms(engine: Engine, filling: Filling): FindPrograms {
  let filled: Promise<VolumeMount> | undefined;
  return async (image) => {
    if (image.hasPrograms || !filling.image.hasPrograms) return undefined;
    filled ??= ensurePrograms(engine, filling).catch((error: unknown) => {
      // The next turn tries again.
      filled = undefined;
      throw error;
    });
    return filled;
  };
}

/**
 * Returns the mount of a read-only volume with the programs of an image, for sandboxes of other images. Fills the volume if it is new, or if
 * its filling was cut short. Several budgies use the same one.
 */
async function ensurePrograms(engine: Engine, { image, ...filling }: Filling): Promise<VolumeMount> {
  const name = `budgie-programs-${image.id.replace("sha256:", "").slice(0, 12)}`;
  const labels = { [PROGRAMS_LABEL]: image.id };
  const found = await findSharedVolume(engine.docker, { name, labels, purpose: "for the agents' programs" });
  if (found === undefined) await engine.docker.createVolume({ Name: name, Labels: labels, ...timeLimit() });
  const command = ["/bin/sh", "-c", FILL] as const;
  const mounts = [volumeMount({ name, labels }, FILLED)];
  // Root, to whom the image's files belong. It has no capability.
  const user = { uid: 0, gid: 0 };
  const said = await printInImage(engine, { ...filling, image, user, command, mounts, limitMs: FILL_MS });
  if (!said.endsWith("filled\n")) throw notFilled(name, image);
  return { ...volumeMount({ name, labels }, PROGRAMS), isReadOnly: true };
}

const FILLED = "/programs";
const FILL_MS = 3 * 60_000;

// The lock ends with the process that holds it, and the mark is written last.
const FILL = `set -e
cd ${FILLED}
exec 9>.lock
flock 9
if ! [ -e .complete ]; then
  find . -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +
  cp -a ${PROGRAMS}/. .
  : >.complete
fi
echo filled`;

function notFilled(volume: string, { name }: SandboxImage): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${volume}" could not be filled with the programs of the image "${name}". Look for space on the engine's disk: "docker system df".`,
  );
}
