import { BudgieError } from "@budgie/core";
import type { VolumeMount } from "@budgie/sandbox/mounts";
import { ignoreMissing } from "../engine/to-budgie-error.ts";
import type { Engine } from "../engine/engine.ts";
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
  await createOnce(engine, name, labels);
  const mount = { type: "volume", source: name, labels, noCopy: true } as const;
  const command = ["/bin/sh", "-c", FILL] as const;
  const mounts = [{ ...mount, target: FILLED, isReadOnly: false }];
  // Root, to whom the image's files belong. It has no capability.
  const user = { uid: 0, gid: 0 };
  const said = await printInImage(engine, { ...filling, image, user, command, mounts, limitMs: FILL_MS });
  if (!said.endsWith("filled\n")) throw notFilled(name, image);
  return { ...mount, target: PROGRAMS, isReadOnly: true };
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

async function createOnce({ docker }: Engine, name: string, labels: Record<string, string>): Promise<void> {
  const found = await docker.getVolume(name).inspect(timeLimit()).catch(ignoreMissing);
  if (!found) return void (await docker.createVolume({ Name: name, Labels: labels, ...timeLimit() }));
  // Another program's volume of that name could be any folder.
  const isPlain = found.Driver === "local" && Object.keys(found.Options ?? {}).length === 0;
  if (isPlain && found.Labels?.[PROGRAMS_LABEL] === labels[PROGRAMS_LABEL]) return;
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${name}" is not one that budgie made for the agents' programs. Remove it: "docker volume rm ${name}".`,
  );
}

function notFilled(volume: string, { name }: SandboxImage): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${volume}" could not be filled with the programs of the image "${name}". Look for space on the engine's disk: "docker system df".`,
  );
}
