import { constants } from "node:fs";
import { open, statfs, type FileHandle } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { relative } from "node:path/posix";
import type { DiskReport } from "@budgie/core";
import { isWithin } from "@budgie/core/policy";
import { CACHE_FOLDER } from "../profile/cache-environment.ts";
import { descriptorPath } from "../mounts/held-sources.ts";
import type { ContainerRoot } from "./open-root.ts";
import { measureFolder, measureUnlinked, type FolderSize } from "./measure-folder.ts";
import { FIRST_SHARE, hasTaken, nextShare, type Places, type Room } from "./has-taken.ts";

export type DiskLimit = {
  /** Path of the workspace in the container */
  readonly workspacePath: string;
  /** Limit of the home */
  readonly bytes: number;
  /** Limit of a cache beside the home; default: there is none */
  readonly cacheBytes?: number | undefined;
  /** Size of the home after the last turn; `undefined` if unknown. During a turn it would include the mount points */
  readonly heldBytes: number | undefined;
  /** Called once when the home exceeds the limit, or a disk is nearly full */
  readonly onReached: () => void;
};

/** Reports of the home's size; `undefined` if it cannot be measured, such as on another machine. */
export type DiskWatch = {
  /** Resolves once the folders are open. The watch of a container that ends before would have no report; never rejects */
  readonly ready: Promise<unknown>;
  /** Ends the watch, and reports the home's size and its growth since the last report. */
  readonly end: () => Promise<DiskReport | undefined>;
  /** Reports the home's size and its growth since the last report, or since the start. */
  readonly take: () => Promise<DiskReport | undefined>;
};

const TICK_MS = 1000;
const LONGEST_UNMEASURED_MS = 60_000;
// A pause lasts 20 times as long as the measurement, which therefore takes at most a twentieth of a CPU.
const REST = 20;
const MEASURING_LIMIT_MS = 60_000;
const LAST_MEASURING_LIMIT_MS = 5000;
const LEAST_FREE: Room = { bytes: 2 ** 30, files: 100_000 };

/**
 * Watches the disks of a turn's home and workspace. It reads their free space every second, and measures the home only if it
 * may have exceeded its limit.
 */
export function watchDisk(root: ContainerRoot | undefined, limit: DiskLimit): DiskWatch {
  const over = new AbortController();
  const opening = root === undefined ? undefined : openPlaces(root, limit).catch(() => undefined);
  // An agent that has just begun keeps no unlinked file open that the next measurement would not find.
  const first = opening
    ?.then((places) => places && measure({ ...places, proc: undefined }, over.signal))
    .catch(() => undefined);
  const watching = watch().catch(() => undefined);
  let { heldBytes } = limit;
  const mostCached = limit.cacheBytes ?? 0;
  let takenBytes: number | undefined;
  const beganMs = Date.now();

  async function watch(): Promise<void> {
    const [places, before] = await Promise.all([opening, first]);
    if (places === undefined || before === undefined) return;
    let last = before;
    let share = FIRST_SHARE;
    while (!isAbove(last, before)) {
      await sleep(TICK_MS, undefined, { signal: over.signal, ref: false });
      const [home, workspace] = await Promise.all([readSpace(places.home), readSpace(places.workspace)]);
      const free = findFreeBefore([home, before.space], [workspace, before.workspace]);
      if (free !== undefined && (await hasTaken(places, { free, share, sinceMs: beganMs }, over.signal))) break;
      share = free === undefined ? FIRST_SHARE : nextShare(share);
      if (isDue(last, home.used)) last = await measure(places, over.signal);
    }
    if (!over.signal.aborted) limit.onReached();
  }

  function isDue({ cached, endedMs, size, space, tookMs }: Measured, used: number): boolean {
    const grown = used - space.used;
    const left = Math.min(limit.bytes - size.bytes, cached === undefined ? Infinity : mostCached - cached.bytes);
    // Large growth is measured without a pause.
    if (grown > Math.max(left, limit.bytes / 8)) return true;
    const restedMs = performance.now() - endedMs;
    if (restedMs < REST * tookMs) return false;
    return grown > left || restedMs > LONGEST_UNMEASURED_MS;
  }

  /**
   * Returns true if the home or the cache exceeds its limit. If some files could not be counted, growth of the whole disk counts as the
   * home's.
   */
  function isAbove({ cached, size, space }: Measured, before: Measured): boolean {
    const isPartial = size.isPartial || cached?.isPartial === true;
    const uncounted = isPartial ? Math.max(0, space.used - before.space.used) : 0;
    return size.bytes + uncounted > limit.bytes || (cached?.bytes ?? 0) > mostCached;
  }

  async function end(): Promise<DiskReport | undefined> {
    over.abort();
    await watching;
    const places = await opening;
    if (places === undefined) return undefined;
    try {
      return await reportGrowth(heldBytes ?? (await first)?.size.bytes, places);
    } finally {
      const { cache, home, proc, workspace } = places;
      await Promise.all([home.close(), workspace.close(), proc?.close(), cache?.close()]);
    }
  }

  async function take(): Promise<DiskReport | undefined> {
    const [places, before] = await Promise.all([opening, first]);
    if (places === undefined || before === undefined || over.signal.aborted) return undefined;
    const lastBytes = takenBytes ?? before.size.bytes;
    // The size in a running container includes what is mounted in the home, so only differences count.
    const taken = await reportGrowth(lastBytes, places);
    if (taken === undefined) return undefined;
    heldBytes = Math.max(0, (heldBytes ?? before.size.bytes) + taken.homeBytes - lastBytes);
    takenBytes = taken.homeBytes;
    return { homeBytes: heldBytes, grownBytes: taken.grownBytes };
  }

  return { ready: Promise.resolve(opening), end, take: () => take().catch(() => undefined) };
}

async function openPlaces({ path }: ContainerRoot, { cacheBytes, workspacePath }: DiskLimit): Promise<Places> {
  const home = await openFolder(`${path}/home`);
  try {
    const workspace = await openFolder(path + workspacePath);
    const proc = await openFolder(`${path}/proc`).catch(() => undefined);
    const cache = cacheBytes === undefined ? undefined : await openFolder(path + CACHE_FOLDER).catch(() => undefined);
    const workspaceInHome = isWithin(workspacePath, "/home") ? relative("/home", workspacePath) : undefined;
    return { home, workspace, workspaceInHome, cache, proc };
  } catch (error) {
    await home.close();
    throw error;
  }
}

function openFolder(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

type Space = { readonly used: number; readonly free: Room };

async function readSpace(place: FileHandle): Promise<Space> {
  const { bavail, bfree, blocks, bsize, ffree } = await statfs(descriptorPath(place));
  return { used: (blocks - bfree) * bsize, free: { bytes: bavail * bsize, files: ffree } };
}

/** Returns what was free before on the first disk that is nearly full; `undefined` if none is. */
function findFreeBefore(...disks: readonly (readonly [Space, Space])[]): Room | undefined {
  return disks.find(([now, before]) => isFull(now, before))?.[1].free;
}

/** Returns true if a disk is nearly full, unless it already was before the turn. */
function isFull({ free }: Pick<Space, "free">, { free: before }: Pick<Space, "free">): boolean {
  const isShort = (kind: keyof Room): boolean => free[kind] < Math.min(LEAST_FREE[kind], before[kind] / 2);
  return isShort("bytes") || isShort("files");
}

type Measured = {
  /** Size of the home */
  readonly size: FolderSize;
  /** Size of the cache; `undefined` if there is none */
  readonly cached: FolderSize | undefined;
  /** Free and used space of the home's disk, before the count */
  readonly space: Space;
  readonly workspace: Space;
  readonly tookMs: number;
  readonly endedMs: number;
};

async function measure(places: Places, signal: AbortSignal): Promise<Measured> {
  const { cache, home, proc, workspace, workspaceInHome } = places;
  const began = performance.now();
  const spaces = await Promise.all([readSpace(home), readSpace(workspace)]);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(MEASURING_LIMIT_MS)]);
  const [cached, ...parts] = await Promise.all([
    cache && measureFolder({ folder: cache }, limit),
    measureFolder({ folder: home, without: workspaceInHome }, limit),
    ...(proc === undefined ? [] : [measureUnlinked(proc, (await home.stat()).dev, limit)]),
  ]);
  const size = {
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    isPartial: parts.some((part) => part.isPartial),
  };
  const endedMs = performance.now();
  return { size, cached, space: spaces[0], workspace: spaces[1], tookMs: endedMs - began, endedMs };
}

async function reportGrowth(
  heldBytes: number | undefined,
  { home, workspaceInHome }: Places,
): Promise<DiskReport | undefined> {
  const { bytes, isPartial } = await measureFolder(
    { folder: home, without: workspaceInHome },
    AbortSignal.timeout(LAST_MEASURING_LIMIT_MS),
  );
  if (heldBytes === undefined || isPartial) return undefined;
  return { homeBytes: bytes, grownBytes: Math.max(0, bytes - heldBytes) };
}
