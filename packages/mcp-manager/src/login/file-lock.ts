import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Longer than any work under a lock, so that an older lock is one of a process that died. */
export const STALE_MS = 120_000;

/** Works alone among the processes of this machine. A lock of a process that died is ignored after two minutes. */
export async function withFileLock<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  const id = randomUUID();
  while (!tryLock(lock, id)) {
    breakStale(lock);
    await sleep(20 + Math.random() * 30);
  }
  try {
    return await work();
  } finally {
    // A suspended machine may have made it stale, and another process taken it.
    if (read(lock) === id) rmSync(lock, { force: true });
  }
}

function tryLock(lock: string, id: string): boolean {
  try {
    writeFileSync(lock, id, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function breakStale(lock: string): void {
  const { mtimeMs } = statSync(lock, { throwIfNoEntry: false }) ?? {};
  if (mtimeMs === undefined || Date.now() - mtimeMs < STALE_MS) return;
  const broken = `${lock}.${randomUUID()}`;
  try {
    // Only one process can rename it.
    renameSync(lock, broken);
    rmSync(broken, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function read(lock: string): string | undefined {
  try {
    return readFileSync(lock, "utf8");
  } catch {
    return undefined;
  }
}
