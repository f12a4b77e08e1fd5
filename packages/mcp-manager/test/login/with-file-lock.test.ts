import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { STALE_MS, withFileLock } from "../../src/login/with-file-lock.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "budgie-lock-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("a lock lets one worker in at a time, and is gone after the last, failed or not", async () => {
  const lock = join(folder, "lock");
  let inside = 0;
  const counts: number[] = [];
  const work = async (fails: boolean): Promise<void> => {
    counts.push((inside += 1));
    await nextTurn();
    inside -= 1;
    if (fails) throw new Error("failed");
  };
  await Promise.allSettled([true, false, true].map((fails) => withFileLock(lock, () => work(fails))));

  expect(counts).toEqual([1, 1, 1]);
  expect(readdirSync(folder)).toEqual([]);
});

it("a lock of a process that died is broken, and a younger one is waited for", async () => {
  const lock = join(folder, "lock");
  writeFileSync(lock, "dead");
  const old = (Date.now() - STALE_MS) / 1000 - 1;
  utimesSync(lock, old, old);

  expect(await withFileLock(lock, async () => "in")).toBe("in");
  writeFileSync(lock, "alive");
  let isIn = false;
  const waiting = withFileLock(lock, async () => void (isIn = true));
  await withFileLock(join(folder, "other"), nextTurn);
  expect(isIn).toBe(false);
  rmSync(lock);
  await waiting;
  expect(isIn).toBe(true);
});
