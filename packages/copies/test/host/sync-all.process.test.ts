import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { closeFolder, openRootFolder } from "@budgie/core/walk";
import { syncAll, syncEntry } from "../../src/host/sync-all.ts";

const MANY = 100;
const hasSync = spawnSync("/bin/sync", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU coreutils") === true;

/** Syncs so many files of a folder, and returns how many were synced one by one. */
async function syncFiles(count: number, folder = mkdtempSync(join(tmpdir(), "budgie-sync-"))): Promise<number> {
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const paths = Array.from({ length: count }, (_, number) => Buffer.from(join(folder, `${number}`)));
  for (const path of paths) writeFileSync(path, "text");
  const on = await openRootFolder(folder);
  let synced = 0;
  try {
    await syncAll(on, paths, (path) => syncEntry(path).then(() => void synced++));
  } finally {
    closeFolder(on);
  }
  return synced;
}

it("a few files are written to the disk one by one", async () => {
  expect(await syncFiles(3)).toBe(3);
});

it.skipIf(!hasSync)("many are written by one call for their file system, by a program that no PATH names", async () => {
  vi.stubEnv("PATH", "/nonexistent");
  onTestFinished(() => void vi.unstubAllEnvs());

  expect(await syncFiles(MANY)).toBe(0);
});

it("many are written one by one where that call fails", async () => {
  const folder = mkdtempSync(join(tmpdir(), "budgie-sync-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let synced = 0;

  // No descriptor that the program could sync.
  await syncAll({ fd: -1, at: Buffer.from(folder) }, Array.from({ length: MANY }), async () => void synced++);

  expect(synced).toBe(MANY);
});

it.skipIf(!hasSync)("many are written one by one where the file system is none of a disk, such as /proc", async () => {
  const on = await openRootFolder("/proc");
  onTestFinished(() => closeFolder(on));
  let synced = 0;

  await syncAll(on, Array.from({ length: MANY }), async () => void synced++);

  expect(synced).toBe(MANY);
});

it.skipIf(!hasSync)("many are written one by one once that call takes too long", async () => {
  // Asks for the program's version once, before time runs out at once.
  await syncFiles(MANY);
  const { setTimeout } = globalThis;
  onTestFinished(() => void (globalThis.setTimeout = setTimeout));
  globalThis.setTimeout = ((end: () => void) => queueMicrotask(end)) as unknown as typeof setTimeout;

  expect(await syncFiles(MANY)).toBe(MANY);
});
