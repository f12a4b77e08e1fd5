import { link, lstat, mkdir, rename, rmdir, unlink } from "node:fs/promises";
import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { HostFolder, HostPlace } from "../host/host-folder.ts";
import { readHostEntry } from "../host/read-host-entry.ts";
import type { Side } from "../sets/change-set.ts";
import { isSide } from "../sets/is-side.ts";
import { toStageNames, type Step } from "./apply-plan.ts";

export type RollingBack = {
  readonly host: HostFolder;
  readonly stage: FolderHandle;
  readonly steps: readonly Step[];
};

/**
 * Takes back what an apply wrote, in whatever step it ended, and nothing else: the stage shows what was done. Returns the paths that someone
 * else wrote meanwhile, which stay as they are. Can be repeated.
 */
export async function rollBack({ host, stage, steps }: RollingBack): Promise<readonly string[]> {
  const left: string[] = [];
  for (const [number, step] of [...steps.entries()].toReversed()) {
    try {
      const isBack = await host.at(step.path, (place) => takeBack({ number, step, place, stage }));
      if (!isBack) left.push(step.path);
    } catch (error) {
      // Without its folder nothing of it was written.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") left.push(step.path);
    }
  }
  return left;
}

type TakingBack = {
  readonly number: number;
  readonly step: Step;
  readonly place: HostPlace;
  readonly stage: FolderHandle;
};

async function takeBack(taking: TakingBack): Promise<boolean> {
  const { place, step } = taking;
  switch (step.op) {
    case "mkdir":
      if ((await findIdentity(place.path)) !== step.identity || step.identity === undefined) return true;
      return rmdir(place.path).then(
        () => true,
        () => false,
      );
    case "rmdir":
      await mkdir(place.path, step.mode & 0o777).catch(ignoreTaken);
      return true;
    case "aside":
      return putBack(taking, step.before);
    case "write": {
      const isAway = await takeAway(taking, step.after);
      return (step.before === undefined || (await putBack(taking, step.before))) && isAway;
    }
  }
}

/** Removes the entry that the apply linked into place; returns `false` if someone wrote to it since. */
async function takeAway({ number, place, stage }: TakingBack, after: Side): Promise<boolean> {
  const { away, fresh } = toStageNames(number);
  const ours = await findIdentity(pathIn(stage, Buffer.from(fresh)));
  const awayPath = pathIn(stage, Buffer.from(away));
  if (ours === undefined || (await findIdentity(place.path)) !== ours) return restoreAway(awayPath, place);
  await rename(place.path, awayPath);
  const found = await readHostEntry(awayPath, () => true);
  if ("identity" in found && found.identity === ours && isSide(after, found)) {
    await unlink(awayPath);
    return true;
  }
  await restoreAway(awayPath, place);
  return false;
}

/** Puts an entry back that was taken away and turned out to be someone else's. */
async function restoreAway(away: Buffer, place: HostPlace): Promise<boolean> {
  if ((await findIdentity(away)) === undefined) return true;
  await link(away, place.path).catch(ignoreTaken);
  const isBack = (await findIdentity(away)) === (await findIdentity(place.path));
  if (isBack) await unlink(away);
  return isBack;
}

/** Puts an entry back that was moved aside. If its name is taken, someone saved a newer version of what the base's object has. */
async function putBack({ number, place, stage }: TakingBack, before: Side): Promise<boolean> {
  const old = pathIn(stage, Buffer.from(toStageNames(number).old));
  if ((await findIdentity(old)) === undefined) return true;
  await link(old, place.path).catch(ignoreTaken);
  const isBack = (await findIdentity(old)) === (await findIdentity(place.path));
  const isKnown = isSide(before, await readHostEntry(old, () => true));
  if (isBack || (isKnown && isKept(before))) await unlink(old);
  return isBack;
}

/** Returns true if losing a file that was moved aside loses nothing. */
function isKept(side: Side): boolean {
  return side.kind === "link" || (side.kind === "file" && side.kept);
}

async function findIdentity(path: Buffer): Promise<string | undefined> {
  const found = await lstat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function ignoreTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
