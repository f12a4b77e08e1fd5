import { mkdir, rename, rmdir } from "node:fs/promises";
import { pathIn, type FolderHandle } from "@budgie/core/walk";
import type { FileCalls } from "../host/file-calls.ts";
import { changeFolderMode, type HostFolder, type HostPlace } from "../host/host-folder.ts";
import { readHostEntry } from "../host/read-host-entry.ts";
import { syncFolders } from "../host/sync-folders.ts";
import type { Side } from "../sets/change-set.ts";
import { isSide } from "../sets/is-side.ts";
import { toNearName, toStageNames, type Step } from "./apply-plan.ts";

export type RollingBack = {
  readonly host: HostFolder;
  readonly stage: FolderHandle;
  /** Name of the stage in the directory */
  readonly name: string;
  readonly steps: readonly Step[];
};

/**
 * Takes back what an apply wrote, in whatever step it ended, and nothing else: the stage shows what was done. Returns the paths that someone
 * else wrote meanwhile, which stay as they are. Rejects with `isHalfBack` if the disk refuses, once all else is back. Can be repeated.
 */
export async function rollBack({ host, name, stage, steps }: RollingBack): Promise<readonly string[]> {
  const left: string[] = [];
  const failures: unknown[] = [];
  const { calls } = host;
  for (const [number, step] of [...steps.entries()].toReversed()) {
    try {
      const near = Buffer.from(toNearName(name, number));
      const isBack = await host.at(step.path, async (place) => {
        if (step.op === "write") await removeNear(pathIn(place.folder, near), calls);
        return takeBack({ calls, number, step, place, stage });
      });
      if (!isBack) left.push(step.path);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      const fate = await findFate({ calls, number, step, stage }, code);
      if (fate === "failed") failures.push(error);
      else if (fate === "left") left.push(step.path);
    }
  }
  // The journal must not end before this is on the disk.
  const paths = steps.map(({ path }) => path);
  await syncFolders(host, stage, paths).catch((error: NodeJS.ErrnoException) => {
    // A file system that cannot sync folders never could.
    if (DISK_FAILURES.has(error.code ?? "")) failures.push(error);
  });
  if (failures.length > 0) throw Object.assign(failures[0] as Error, { isHalfBack: true });
  return left;
}

/** Removes a new file that had not come into the stage yet. */
async function removeNear(path: Buffer, calls: FileCalls): Promise<void> {
  if ((await findIdentity(calls, path)) !== undefined) await calls.unlink(path);
}

/** The errors of a folder that someone moved or replaced, which another try would meet again. */
const MOVED: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EXDEV"]);

const DISK_FAILURES: ReadonlySet<string> = new Set(["EIO", "ENOSPC", "EDQUOT"]);

type TakenStep = {
  readonly calls: FileCalls;
  readonly number: number;
  readonly step: Step;
  readonly stage: FolderHandle;
};

/** Tells a step that another try may take back from one that stays as it is, and from one that was never taken. */
async function findFate(taken: TakenStep, code: string): Promise<"failed" | "left" | "untouched"> {
  // A disk that does not tell may do so later.
  const isTaken = await wasTaken(taken).catch(() => true);
  // The stage does not show that a folder was removed.
  if ((isTaken || taken.step.op === "rmdir") && !MOVED.has(code)) return "failed";
  // Without its folder nothing of it was written, unless that was moved since.
  return isTaken || code !== "ENOENT" ? "left" : "untouched";
}

/** Returns true if the stage shows that a step moved an old file aside, or gave a new one its name. */
async function wasTaken({ calls, number, stage, step }: TakenStep): Promise<boolean> {
  const { fresh, old } = toStageNames(number);
  if ((await findIdentity(calls, pathIn(stage, Buffer.from(old)))) !== undefined) return true;
  if (step.op !== "write") return false;
  const found = await calls.lstat(pathIn(stage, Buffer.from(fresh))).catch(ignoreMissing);
  return found !== undefined && found.nlink > 1n;
}

type TakingBack = TakenStep & { readonly place: HostPlace };

async function takeBack(taking: TakingBack): Promise<boolean> {
  const { calls, place, step } = taking;
  switch (step.op) {
    case "mkdir":
      if ((await findIdentity(calls, place.path)) !== step.identity || step.identity === undefined) return true;
      return rmdir(place.path).then(
        () => true,
        () => false,
      );
    case "rmdir":
      return makeAgain(taking, step.mode);
    case "aside":
      return putBack(taking, step.before);
    case "write": {
      const isAway = await takeAway(taking, step.after);
      const isBack = (step.before === undefined || (await putBack(taking, step.before))) && isAway;
      if (isBack) await removeFresh(taking);
      return isBack;
    }
  }
}

/** Removes a new file whose step is back: a full disk needs its room for the folders that are made again. */
async function removeFresh({ calls, number, stage }: TakingBack): Promise<void> {
  // The stage is emptied again later, which tells of a failure.
  await calls.unlink(pathIn(stage, Buffer.from(toStageNames(number).fresh))).catch(() => undefined);
}

/** Makes a folder that was removed again, with its permission bits, unless there is one. */
async function makeAgain({ calls, number, place, stage }: TakingBack, mode: number): Promise<true> {
  if ((await findIdentity(calls, place.path)) !== undefined) return true;
  const made = pathIn(stage, Buffer.from(toStageNames(number).away));
  await mkdir(made).catch(ignoreTaken);
  await changeFolderMode(made, mode & 0o3777);
  await rename(made, place.path);
  return true;
}

/** Removes the entry that the apply linked into place; returns `false` if someone wrote to it since. */
async function takeAway({ calls, number, place, stage }: TakingBack, after: Side): Promise<boolean> {
  const { away, fresh } = toStageNames(number);
  const ours = await findIdentity(calls, pathIn(stage, Buffer.from(fresh)));
  const awayPath = pathIn(stage, Buffer.from(away));
  if (ours === undefined || (await findIdentity(calls, place.path)) !== ours)
    return restoreAway(calls, awayPath, place);
  await calls.rename(place.path, awayPath);
  const found = await readHostEntry(awayPath, () => true, calls);
  if ("identity" in found && found.identity === ours && isSide(after, found)) {
    await calls.unlink(awayPath);
    return true;
  }
  await restoreAway(calls, awayPath, place);
  return false;
}

/** Puts an entry back that was taken away and turned out to be someone else's. */
async function restoreAway(calls: FileCalls, away: Buffer, place: HostPlace): Promise<boolean> {
  const identity = await findIdentity(calls, away);
  if (identity === undefined) return true;
  await calls.link(away, place.path).catch(ignoreTaken);
  const isBack = identity === (await findIdentity(calls, place.path));
  if (isBack) await calls.unlink(away);
  return isBack;
}

/** Puts an entry back that was moved aside. If its name is taken, someone saved a newer version of what the base's object has. */
async function putBack({ calls, number, place, stage }: TakingBack, before: Side): Promise<boolean> {
  const old = pathIn(stage, Buffer.from(toStageNames(number).old));
  const identity = await findIdentity(calls, old);
  if (identity === undefined) return true;
  await calls.link(old, place.path).catch(ignoreTaken);
  const isBack = identity === (await findIdentity(calls, place.path));
  const isKnown = isBack || isSide(before, await readHostEntry(old, () => true, calls));
  if (isBack || (isKnown && isKept(before))) await calls.unlink(old);
  return isBack;
}

/** Returns true if losing a file that was moved aside loses nothing. */
function isKept(side: Side): boolean {
  return side.kind === "link" || (side.kind === "file" && side.kept);
}

async function findIdentity(calls: FileCalls, path: Buffer): Promise<string | undefined> {
  const found = await calls.lstat(path).catch(ignoreMissing);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

function ignoreTaken(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
