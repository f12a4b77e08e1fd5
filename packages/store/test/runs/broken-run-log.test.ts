import { chmodSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { ALL, createFolder, edit, makeRun, open, openArchive, toCaller } from "../helpers.ts";

describe("a run log that cannot be used", () => {
  it("fails no run, is reported once, and the report says what to do", async () => {
    const stateDir = createFolder();
    writeFileSync(join(stateDir, "runs.sqlite3"), "This is no database. ".repeat(500));
    const log = open(stateDir);

    await log.finish(makeRun());
    await log.finish(makeRun());

    expect(log.reports).toEqual([
      `Turns are not logged: Cannot use the run log "${join(stateDir, "runs.sqlite3")}" (file is not a database). Make it writable, or move it away if it is broken.`,
    ]);
    await expect(openArchive(stateDir).recent(ALL)).rejects.toMatchObject({
      code: "STATE_UNUSABLE",
      message: /file is not a database/,
    });
  });

  it("leaves the process its own memory of runs", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const [before, spare] = [makeRun(), makeRun({ startedMs: Date.now() })];
    await log.finish(before);
    edit(stateDir, toFullDisk("ABORT"));

    await log.begin(spare);
    await log.finish(spare);

    expect((await log.recent(ALL)).map(({ id }) => id)).toEqual([spare.id, before.id]);
    expect(await log.undelivered(toCaller(spare))).toMatchObject({
      missed: [{ runId: spare.id, response: "Grüße" }],
    });
    await log.delivered([spare.id]);
    expect(await log.undelivered(toCaller(spare))).toEqual({ missed: [], moreMissed: 0 });
    expect(log.reports).toHaveLength(1);
    log.close();
  });

  it("may be damaged in the middle, and works again after it was moved away", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    for (let count = 0; count < 50; count++) await log.finish(makeRun({ error: "x".repeat(3000) }));
    log.close();
    damage(join(stateDir, "runs.sqlite3"));

    await expect(openArchive(stateDir).recent(ALL)).rejects.toMatchObject({
      code: "STATE_UNUSABLE",
      message: /malformed/,
    });
    log.close();
    rmSync(join(stateDir, "runs.sqlite3"));
    const fresh = open(stateDir);
    await fresh.finish(makeRun());

    expect(await fresh.recent(ALL)).toHaveLength(1);
    fresh.close();
  });

  it.each([
    ["moved away", (stateDir: string) => renameSync(join(stateDir, "runs.sqlite3"), join(stateDir, "broken"))],
    ["removed with its folder", (stateDir: string) => rmSync(stateDir, { recursive: true })],
  ])("may be %s while it is in use, and is recreated", async (_what, take) => {
    const stateDir = createFolder();
    const log = open(stateDir);
    await log.finish(makeRun({ agent: "before" }));

    take(stateDir);
    const unseen = await log.recent(ALL);
    await log.finish(makeRun({ agent: "after" }));

    expect(unseen).toEqual([]);
    expect((await openArchive(stateDir).recent(ALL)).map(({ agent }) => agent)).toEqual(["after"]);
    expect(log.reports).toEqual([]);
    log.close();
  });

  it("may be in a place where nothing can be created, even by root", async () => {
    const file = join(createFolder(), "file");
    writeFileSync(file, "");
    const log = open(join(file, "state"));

    await log.finish(makeRun());
    await log.finish(makeRun());

    expect(log.reports).toEqual([expect.stringMatching(/^Turns are not logged: Cannot use .*ENOTDIR/)]);
  });

  it.skipIf(process.getuid?.() === 0)("may be in a directory that is read-only", async () => {
    const stateDir = createFolder();
    chmodSync(stateDir, 0o500);
    const log = open(stateDir);

    await log.finish(makeRun());
    chmodSync(stateDir, 0o700);

    expect(log.reports).toEqual([expect.stringContaining("EACCES")]);
  });

  it.each(["ABORT", "ROLLBACK"])(
    "may be on a full disk, which ends in %s, and works again when there is space",
    async (end) => {
      const stateDir = createFolder();
      const log = open(stateDir);
      await log.finish(makeRun());
      edit(stateDir, toFullDisk(end));

      await log.finish(makeRun({ agent: "lost" }));
      edit(stateDir, "DROP TRIGGER full");
      await log.finish(makeRun({ agent: "kept" }));

      expect(log.reports).toEqual([expect.stringContaining("database or disk is full")]);
      expect((await openArchive(stateDir).recent(ALL)).map(({ agent }) => agent)).toEqual(["kept", "tester"]);
      log.close();
    },
  );

  it("may be locked by a process that is creating it", async () => {
    const stateDir = createFolder();
    const other = new Database(join(stateDir, "runs.sqlite3"));
    other.exec("CREATE TABLE begun (a); BEGIN IMMEDIATE; INSERT INTO begun VALUES (1)");
    const log = open(stateDir);

    const recording = log.finish(makeRun());
    setTimeout(() => other.exec("COMMIT"), 100);
    await recording;
    other.close();

    expect(log.reports).toEqual([]);
    expect(await log.recent(ALL)).toHaveLength(1);
    log.close();
  });

  it("may be a symlink, which is not followed", async () => {
    const stateDir = createFolder();
    const victim = join(createFolder(), "victim");
    symlinkSync(victim, join(stateDir, "runs.sqlite3"));
    const log = open(stateDir);

    await log.finish(makeRun());

    expect(log.reports).toEqual([expect.stringContaining("ELOOP")]);
    expect(existsSync(victim)).toBe(false);
  });

  it("may be of a newer budgie, which is left unchanged", async () => {
    const stateDir = createFolder();
    const before = open(stateDir);
    await before.finish(makeRun());
    before.close();
    edit(stateDir, "PRAGMA user_version = 99");
    const log = open(stateDir);

    await log.finish(makeRun());

    const [, known] = /of a newer budgie \(version 99, and this one knows (\d+)\)/.exec(log.reports.join()) ?? [];
    edit(stateDir, `PRAGMA user_version = ${known}`);
    expect(await openArchive(stateDir).recent(ALL)).toHaveLength(1);
    log.close();
  });
});

/** Returns SQL for a trigger that makes writes fail like a full disk. `end` is what happens to the transaction, such as `ABORT`. */
function toFullDisk(end: string): string {
  return `CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(${end}, 'database or disk is full'); END`;
}

/** Keeps the header and the schema, and overwrites everything after them. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xee, 4096));
}
