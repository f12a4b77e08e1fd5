import type { FileHandle } from "node:fs/promises";
import { measureGrowth, measureUnlinked } from "./measure-folder.ts";

/** Open folders, which can be measured after the container's end. */
export type Places = {
  readonly home: FileHandle;
  readonly workspace: FileHandle;
  /** The workspace's path below the home; `undefined` if it is elsewhere */
  readonly workspaceInHome?: string | undefined;
  /** The folder of a cache; `undefined` if there is none */
  readonly cache?: FileHandle | undefined;
  /** The container's `/proc`; `undefined` if it is not accessible */
  readonly proc: FileHandle | undefined;
};

/** The free space of a disk, in bytes and in files: most file systems limit the number of files too. */
export type Room = { readonly bytes: number; readonly files: number };

export type Taking = {
  /** The free space before the turn */
  readonly free: Room;
  /** The part of it that the turn may have taken */
  readonly share: number;
  /** The turn's start, in milliseconds */
  readonly sinceMs: number;
};

/** The share that is asked for first when a disk is nearly full. */
export const FIRST_SHARE = 1 / 4;
const LEAST_SHARE = 1 / 256;
const LIMIT_MS = 60_000;

/**
 * Returns the share that is asked for next. It halves, so that the turn that took most ends first, in whichever budgie, and others go on
 * if that frees the disk. A turn that took less than 1/256 never ends.
 */
export function nextShare(share: number): number {
  return Math.max(LEAST_SHARE, share / 2);
}

/** Returns true if a turn took more than a share of what was free. A count that is partial takes all of it. */
export async function hasTaken(
  { cache, home, proc, workspace, workspaceInHome }: Places,
  { free, share, sinceMs }: Taking,
  signal: AbortSignal,
): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const devices = new Set([(await home.stat()).dev, (await workspace.stat()).dev]);
  const unlinked = proc === undefined ? [] : [...devices].map((device) => measureUnlinked(proc, device, limit));
  const areas = [
    { folder: home, without: workspaceInHome },
    { folder: workspace },
    ...(cache === undefined ? [] : [{ folder: cache }]),
  ];
  const parts = await Promise.all([...areas.map((area) => measureGrowth(area, sinceMs, limit)), ...unlinked]);
  const isTaken = (kind: keyof Room): boolean => parts.reduce((sum, part) => sum + part[kind], 0) > share * free[kind];
  return parts.some(({ isPartial }) => isPartial) || isTaken("bytes") || isTaken("files");
}
