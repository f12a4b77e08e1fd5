import { describe, expect, it } from "vitest";
import type { FinishedRun } from "@budgie/core/runs";
import type { RecordReport } from "@budgie/store";
import { createFolder, edit, makeRun, open, openArchive, query } from "../helpers.ts";

const TURNS = 6;

/** Writes a log of turns, and returns its folder with their ids in the order of the record. */
async function record(
  runs: readonly FinishedRun[] = Array.from({ length: TURNS }, () => makeRun({ transcript: "…" })),
) {
  const stateDir = createFolder();
  const log = open(stateDir, { keepTranscripts: true });
  for (const run of runs) await log.finish(run);
  log.close();
  return { stateDir, ids: runs.map(({ id }) => id) };
}

async function verify(stateDir: string, noted?: RecordReport["head"]): Promise<RecordReport> {
  return openArchive(stateDir).verify(noted);
}

/** Lists the columns of a table with a value that none of its rows has. */
function listColumns(stateDir: string, table: string): readonly (readonly [name: string, value: string])[] {
  const columns = query(stateDir, `PRAGMA table_info(${table})`) as readonly { name: string; type: string }[];
  return columns.map(({ name, type }) => [name, type === "TEXT" ? "'other'" : "77"]);
}

// Writes a chain anew, as someone may who knows its form.
const REMOVE_LAST = `DELETE FROM runs WHERE entry = 6; DELETE FROM record WHERE position = 6;
  UPDATE record_ends SET head_position = 5, head_digest = (SELECT digest FROM record WHERE position = 5)`;
const SWAP = (table: string, column: string): string =>
  `UPDATE ${table} SET ${column} = -${column} WHERE ${column} IN (3, 4); UPDATE ${table} SET ${column} = 7 + ${column} WHERE ${column} < 0`;

describe("the record of turns", () => {
  it("is whole if nothing was touched but what budgie itself changes", async () => {
    const { ids, stateDir } = await record();
    const log = open(stateDir);
    await log.delivered(ids.slice(0, 2));
    await log.dropped(ids.slice(2, 3));

    expect(await verify(stateDir)).toEqual({
      head: { position: TURNS, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      turns: TURNS,
      changes: 0,
      removed: 0,
      withoutAnswer: 0,
      earlier: 0,
      open: 0,
    });
  });

  it.each<readonly [change: string, sql: string, kind: string, entry?: number]>([
    ["a changed turn", "UPDATE runs SET outcome = 'BUG' WHERE entry = 3", "changed", 3],
    ["a turn that was emptied", "UPDATE runs SET facts = NULL WHERE entry = 3", "changed", 3],
    ["a changed answer", "UPDATE answers SET text = 'No.' WHERE run = 3", "answer", 3],
    ["a removed answer", "DELETE FROM answers WHERE run = 3", "answer", 3],
    ["a changed transcript", "UPDATE transcripts SET text = 'No.' WHERE run = 3", "transcript", 3],
    ["a removed transcript", "DELETE FROM transcripts WHERE run = 3", "transcript", 3],
    ["a removed turn", "PRAGMA foreign_keys = ON; DELETE FROM runs WHERE entry = 3", "removed", 3],
    [
      "a turn removed with its entry",
      "DELETE FROM runs WHERE entry = 3; DELETE FROM record WHERE position = 3",
      "missing",
      4,
    ],
    [
      "the first turns removed",
      "DELETE FROM runs WHERE entry < 3; DELETE FROM record WHERE position < 3",
      "missing",
      3,
    ],
    [
      "a gap that was closed",
      "DELETE FROM runs WHERE entry = 3; DELETE FROM record WHERE position = 3; UPDATE record SET position = position - 1 WHERE position > 3",
      "missing",
      3,
    ],
    ["exchanged entries", SWAP("record", "position"), "moved", 3],
    ["exchanged turns", SWAP("runs", "number"), "changed", 3],
    [
      "the last turn removed with its entry",
      "DELETE FROM runs WHERE entry = 6; DELETE FROM record WHERE position = 6",
      "cut-off",
      6,
    ],
    ["all removed", "DELETE FROM runs; DELETE FROM record", "cut-off", 1],
    ["an entry marked as removed by budgie", "UPDATE record SET run = NULL WHERE position = 3", "added"],
    ["an end that was removed", "DELETE FROM record_ends", "ends"],
    ["the last entry alone cut off cleanly", REMOVE_LAST.replace("DELETE FROM runs WHERE entry = 6;", ""), "added"],
    [
      "an added turn",
      "CREATE TEMP TABLE one AS SELECT * FROM runs WHERE entry = 3; UPDATE one SET number = 99, id = 'new', entry = NULL; INSERT INTO runs SELECT * FROM one",
      "added",
    ],
  ])("names %s", async (...[, sql, kind, entry]) => {
    const { ids, stateDir } = await record();
    const before = await verify(stateDir);

    edit(stateDir, `PRAGMA foreign_keys = OFF; ${sql}`);

    const { fault } = await verify(stateDir);
    expect(before.fault).toBeUndefined();
    expect(fault).toMatchObject(entry === undefined ? { kind } : { kind, entry });
    if (kind === "changed" || kind === "removed") expect(fault?.run).toBe(ids[2]);
  });

  it.each([
    ["runs", "entry = 3", ["delivered"]],
    ["record", "position = 3", []],
    ["record_ends", "TRUE", []],
    ["answers", "run = 3", []],
    ["transcripts", "run = 3", ["bytes"]],
  ])("names a change of any column of %s", async (table, where, free) => {
    const { stateDir } = await record();
    const unseen: string[] = [];
    for (const [column, value] of listColumns(stateDir, table)) {
      const [before] = query(stateDir, `SELECT ${column} AS value FROM ${table} WHERE ${where}`) as readonly {
        value: string | number | null;
      }[];
      const old = before?.value === null ? "NULL" : `'${`${before?.value}`.replaceAll("'", "''")}'`;
      edit(stateDir, `PRAGMA foreign_keys = OFF; UPDATE ${table} SET ${column} = ${value} WHERE ${where}`);
      if ((await verify(stateDir)).fault === undefined) unseen.push(column);
      const changed = where === "TRUE" ? where : `${where} OR ${column} = ${value}`;
      edit(stateDir, `PRAGMA foreign_keys = OFF; UPDATE ${table} SET ${column} = ${old} WHERE ${changed}`);
      expect((await verify(stateDir)).fault).toBeUndefined();
    }

    expect(unseen).toEqual(table === "record_ends" ? ["runs_before"] : free);
  });

  it("compares with a head that was noted, the only witness against who writes the chain anew", async () => {
    const { stateDir } = await record();
    const { head: noted } = await verify(stateDir);
    const log = open(stateDir);
    await log.finish(makeRun());
    log.close();
    const later = await verify(stateDir, noted);
    edit(stateDir, `${REMOVE_LAST.replaceAll("6", "7").replaceAll("5", "6")}; ${REMOVE_LAST}`);

    expect(later).toMatchObject({ noted: "found", turns: TURNS + 1 });
    expect((await verify(stateDir)).fault).toBeUndefined();
    expect((await verify(stateDir, noted)).fault).toEqual({ kind: "cut-off", entry: TURNS });
    await open(stateDir).finish(makeRun());
    expect((await verify(stateDir, noted)).fault).toEqual({ kind: "noted", entry: TURNS });
  });

  it("keeps digests of any text, and none of answers that are not kept", async () => {
    const { stateDir } = await record([makeRun({ answer: "a\0b\ud800c\ufffd", error: "\ud800\0" })]);
    await open(stateDir, { keepAnswers: false }).finish(makeRun({ answer: "secret" }));

    expect(await verify(stateDir)).toMatchObject({ turns: 2, withoutAnswer: 0 });
    expect((await verify(stateDir)).fault).toBeUndefined();
    expect(query(stateDir, "SELECT answer_digest IS NULL AS none FROM runs ORDER BY number")).toEqual([
      { none: 0 },
      { none: 1 },
    ]);
  });

  it("is whole if a long turn ended after the limits had removed answers of turns that began later", async () => {
    const [long, short] = [makeRun(), makeRun()];
    const stateDir = createFolder();
    const log = open(stateDir);
    await log.begin(long);
    await log.finish(short);
    edit(stateDir, "DELETE FROM answers");
    await log.finish(long);

    expect(await verify(stateDir)).toMatchObject({ turns: 2, withoutAnswer: 1 });
    expect((await verify(stateDir)).fault).toBeUndefined();
  });

  it("names a changed long answer, which is read apart", async () => {
    const answer = "x".repeat(100_000);
    const { ids, stateDir } = await record([makeRun(), makeRun({ answer }), makeRun()]);
    const before = await verify(stateDir);

    edit(stateDir, "UPDATE answers SET text = substr(text, 2) || 'y' WHERE run = 2");

    expect(before.fault).toBeUndefined();
    expect((await verify(stateDir)).fault).toEqual({ kind: "answer", entry: 2, run: ids[1] });
  });

  it("has no turns that run or never ended, nor those from before there was a record", async () => {
    const { stateDir } = await record();
    const [{ user_version: version }] = query(stateDir, "PRAGMA user_version") as [{ user_version: number }];
    edit(
      stateDir,
      `DROP TABLE record; DROP TABLE record_ends; ALTER TABLE runs DROP COLUMN entry; ALTER TABLE runs DROP COLUMN answer_digest;
        DROP INDEX runs_groups; ALTER TABLE runs DROP COLUMN transcript_digest; PRAGMA user_version = ${version - 4}`,
    );
    const log = open(stateDir);
    const run = makeRun();
    await log.begin(run);
    const begun = await verify(stateDir);
    await log.finish(run);

    expect(begun).toMatchObject({ turns: 0, open: 1, earlier: TURNS, head: { position: 0 } });
    expect(await verify(stateDir)).toMatchObject({ turns: 1, open: 0, earlier: TURNS, head: { position: 1 } });
    expect((await verify(stateDir)).fault).toBeUndefined();
  });

  it("is empty without a log, and then has no head that was noted", async () => {
    const stateDir = createFolder();

    expect(await verify(stateDir)).toMatchObject({ turns: 0 });
    expect((await verify(stateDir, { position: 1, digest: "0" })).fault).toEqual({ kind: "cut-off", entry: 1 });
    expect(query(stateDir, "SELECT name FROM sqlite_master")).toEqual([]);
  });
});
