import { constants } from "node:fs";
import { open, statfs, type FileHandle } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { measureFolder } from "@budgie/sandbox/proc";

const TICK_MS = 1_000;
// A measurement takes at most a fifth of a CPU.
const REST = 4;
const LIMIT_MS = 60_000;

/** Measures a home in bytes. What is hidden from its own user is not counted. */
export async function measureHome(home: string): Promise<number> {
  await using folder = await openHome(home);
  return (await measureFolder({ folder }, AbortSignal.timeout(LIMIT_MS))).bytes;
}

/** Watches a home until a signal aborts, and calls back once it has outgrown its limit. */
export async function watchHome(
  home: string,
  { bytes: most, onReached }: { readonly bytes: number; readonly onReached: () => void },
  signal: AbortSignal,
): Promise<void> {
  await using folder = await openHome(home);
  const before = await readUsed(folder);
  // Most processes are over before a first measurement.
  for (let restMs = TICK_MS; ;) {
    await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    const began = performance.now();
    const { bytes, isPartial } = await measureFolder(
      { folder },
      AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    );
    if (signal.aborted) return;
    // An agent that closes folders has the growth of the whole disk counted as its own.
    const uncounted = isPartial ? Math.max(0, (await readUsed(folder)) - before) : 0;
    if (bytes + uncounted > most) return onReached();
    restMs = Math.max(TICK_MS, REST * (performance.now() - began));
  }
}

async function readUsed(folder: FileHandle): Promise<number> {
  const { bfree, blocks, bsize } = await statfs(descriptorPath(folder));
  return (blocks - bfree) * bsize;
}

function openHome(home: string): Promise<FileHandle> {
  return open(home, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
