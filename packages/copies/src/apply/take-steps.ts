import { rename, rmdir } from "node:fs/promises";
import { forEachOf, pathIn, type FolderHandle } from "@budgie/core/walk";
import type { HostFolder, HostPlace } from "../host/host-folder.ts";
import { readHostEntry, toSeen } from "../host/read-host-entry.ts";
import { syncFolders } from "../host/sync-folders.ts";
import type { Side } from "../sets/change-set.ts";
import { isSide } from "../sets/is-side.ts";
import { conflictError, toStageNames, type Step } from "./apply-plan.ts";

/** Called before each call that changes the directory, with the call's name. Tests interrupt an apply by it. */
export type OnStep = (name: string) => void | Promise<void>;

export type Applying = {
  readonly host: HostFolder;
  readonly stage: FolderHandle;
  readonly steps: readonly Step[];
  /** The facts of the entries that were compared, by their paths */
  readonly seen: ReadonlyMap<string, string>;
  readonly onStep: OnStep;
};

/**
 * Writes the staged entries into the directory, one after another. Each old entry is moved aside and compared before the new one takes its
 * name, and a name that is taken is never overwritten. Throws a conflict, or the error of the file system, and leaves the rest to a rollback.
 */
export async function takeSteps(applying: Applying): Promise<void> {
  const { host, onStep, steps } = applying;
  for (const [number, step] of steps.entries()) {
    await host.at(step.path, (place) => takeStep(applying, { number, step, place }));
  }
  await onStep("verify");
  // A program that had a file open may have written to it after it was moved.
  await forEachOf(steps.entries(), AT_ONCE, async ([number, step]) => {
    if ("before" in step && step.before !== undefined) await verifyOld(applying, { number, step, before: step.before });
  });
  await onStep("sync");
  // A file that was moved aside is in the stage alone until the end.
  await syncFolders(
    host,
    applying.stage,
    steps.map(({ path }) => path),
  );
}

const AT_ONCE = 16;

type Taking = { readonly number: number; readonly step: Step; readonly place: HostPlace };

async function takeStep(applying: Applying, taking: Taking): Promise<void> {
  const { step } = taking;
  switch (step.op) {
    case "aside":
      return moveAside(applying, taking, step.before);
    case "rmdir":
      return removeFolder(applying, taking);
    case "mkdir":
      return moveFolder(applying, taking);
    case "write":
      if (step.before !== undefined) await moveAside(applying, taking, step.before);
      return linkFresh(applying, taking);
  }
}

async function moveAside(applying: Applying, { number, place, step }: Taking, before: Side): Promise<void> {
  const { host, onStep, stage } = applying;
  const old = pathIn(stage, Buffer.from(toStageNames(number).old));
  await onStep(`rename ${step.path}`);
  await host.calls.rename(place.path, old).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOENT" ? conflictError(step.path, "it was removed meanwhile") : error;
  });
  await onStep(`check ${step.path}`);
  // The content is compared again at the end, when most late writers are done with it.
  const found = await host.calls.lstat(old);
  if (toSeen(found) !== applying.seen.get(step.path)) await verifyOld(applying, { number, step, before });
}

type Verifying = { readonly number: number; readonly step: Step; readonly before: Side };

/** Throws unless an entry that was moved aside is the one that the copy was made from. */
async function verifyOld({ host, stage }: Applying, { before, number, step }: Verifying): Promise<void> {
  const old = pathIn(stage, Buffer.from(toStageNames(number).old));
  const found = await readHostEntry(old, () => true, host.calls);
  if (!isSide(before, found)) throw conflictError(step.path, "it was written meanwhile");
  if ("links" in found && found.links > 1) throw conflictError(step.path, "it got a hard link meanwhile");
}

async function removeFolder({ onStep }: Applying, { place, step }: Taking): Promise<void> {
  await onStep(`rmdir ${step.path}`);
  await rmdir(place.path).catch((error: NodeJS.ErrnoException) => {
    const isFull = error.code === "ENOTEMPTY" || error.code === "EEXIST";
    if (!isFull && error.code !== "ENOENT") throw error;
    // Files that the copy did not have, such as ignored ones, keep their folder.
    if (isFull && step.op === "rmdir" && step.mustGo)
      throw conflictError(step.path, "it has other files in the directory");
  });
}

async function moveFolder({ host, onStep, stage }: Applying, { number, place, step }: Taking): Promise<void> {
  await onStep(`mkdir ${step.path}`);
  const isFree = await host.calls.lstat(place.path).then(() => false, isMissing);
  if (!isFree) throw conflictError(step.path, "another one was made meanwhile");
  await rename(pathIn(stage, Buffer.from(toStageNames(number).fresh)), place.path);
}

async function linkFresh({ host, onStep, stage }: Applying, { number, place, step }: Taking): Promise<void> {
  await onStep(`link ${step.path}`);
  await host.calls
    .link(pathIn(stage, Buffer.from(toStageNames(number).fresh)), place.path)
    .catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EEXIST" ? conflictError(step.path, "another one was made meanwhile") : error;
    });
}

function isMissing(error: NodeJS.ErrnoException): boolean {
  return error.code === "ENOENT";
}
