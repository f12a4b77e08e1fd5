import { stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** A point in time to compare file times with. */
export type NotedTime = {
  /** Resolves when any further write gets a later time: the file system's clock is coarse */
  readonly ready: Promise<unknown>;
  /** The noted time by the present clock; `undefined` if the clock was set back too far to tell */
  readonly toSinceMs: () => number | undefined;
};

// Linux notes times by the last tick of its clock, which is 10 ms ago at the most.
const TICK_MS = 10;
const MOST_SET_BACK_MS = 1000;

/** Notes the current time. */
export function noteTime(): NotedTime {
  const beganMs = performance.now();
  // The end of this millisecond: what a caller has just written is from before.
  const sinceMs = Date.now() + 1;
  return {
    ready: sleep(2 * TICK_MS),
    toSinceMs() {
      // In this order: a pause in between then looks like a clock that was set back, and cannot hide one.
      const nowMs = Date.now() + 1;
      const setBackMs = Math.max(performance.now() - beganMs - (nowMs - sinceMs), 0);
      return setBackMs > MOST_SET_BACK_MS ? undefined : sinceMs - setBackMs;
    },
  };
}

/** Whether a time of a file is later than another. Some file systems keep times in steps of 10 ms, 1 s or 2 s, and round down. */
export function isSince(timeMs: number, sinceMs: number): boolean {
  return timeMs > sinceMs - toStepMs(timeMs);
}

function toStepMs(timeMs: number): number {
  if (timeMs % 1000 === 0) return 2000;
  return timeMs % 10 === 0 ? 10 : 0;
}

/** Whether the times of a folder's files are this machine's: those of a network's file system are a server's. */
export async function hasLocalClock(folder: string | Buffer): Promise<boolean> {
  const { type } = await statfs(folder);
  if (LOCAL.has(type)) return true;
  // Where the numbers mean something else, as on macOS: what this machine keeps its own files on is its own.
  const [{ dev }, own] = await Promise.all([stat(folder), stat(tmpdir())]);
  return dev === own.dev;
}

// statfs(2) of Linux. What is not known to be local, such as FUSE, may keep any times.
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xca451a4e, // bcachefs
  0xf2f52010, // F2FS
  0x3153464a, // JFS
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
  0x4d44, // FAT
  0x2011bab0, // exFAT
  0x7366746e, // NTFS
]);
