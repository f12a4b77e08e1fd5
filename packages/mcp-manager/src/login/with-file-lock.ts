import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Longer than any work under a lock: the process of an older lock has died */
export const STALE_MS = 120_000;

/** Runs work that excludes other processes of this machine. After two minutes, breaks the lock of a process that died. */
export async function withFileLock<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  const id = randomUUID();
  while (!tryLock(lock, id)) {
    breakStale(lock);
    await sleep(20 + Math.random() * 30);
  }
  try {
    return await work();
  } finally {
    // If the machine was suspended, the lock may be stale, and another process may have it.
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
