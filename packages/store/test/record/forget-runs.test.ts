import { describe, expect, it } from "vitest";
import { pruneRuns } from "../../src/runs/prune-runs.ts";
import { createStateDatabase } from "../../src/database/state-database.ts";
import { createFolder, edit, makeRun, open, openArchive, query } from "../helpers.ts";

const DAY_MS = 86_400_000;

/** Writes turns of these ages to a log. */
async function fill(...days: readonly number[]) {
  const stateDir = createFolder();
  const log = open(stateDir);
  const runs = days.map((count) => makeRun({ startedMs: Date.now() - count * DAY_MS }));
  for (const run of runs) await log.finish(run);
  return { stateDir, log, ids: runs.map(({ id }) => id) };
}

async function prune(stateDir: string, maxAgeMs: number, maxBytes?: number): Promise<void> {
  const state = createStateDatabase(stateDir);
  pruneRuns(await state.connect(), { maxAgeMs, maxBytes });
  state.close();
}

const verify = (stateDir: string) => openArchive(stateDir).verify();
const entriesOf = (stateDir: string): unknown =>
  query(stateDir, "SELECT position, run IS NULL AS removed FROM record ORDER BY position").map((row) =>
    Object.values(row as object),
  );

describe("removing turns", () => {
  it("leaves a checkpoint, from which the record goes on", async () => {
    const { log, stateDir } = await fill(9, 8, 1, 0);
    const { head } = await verify(stateDir);

    await prune(stateDir, 2 * DAY_MS);
    const pruned = await verify(stateDir);
    await log.finish(makeRun());

    expect(pruned).toEqual({ head, turns: 2, changes: 0, removed: 2, withoutAnswer: 0, earlier: 0, open: 0 });
    expect(entriesOf(stateDir)).toEqual([
      [3, 0],
      [4, 0],
      [5, 0],
    ]);
    expect(await openArchive(stateDir).verify(head)).toMatchObject({ turns: 3, removed: 2, noted: "found" });
    const [first] = query(stateDir, "SELECT start_position AS position, start_digest AS digest FROM record_ends");
    expect(await openArchive(stateDir).verify(first as typeof head)).toMatchObject({ noted: "found" });
    expect(await openArchive(stateDir).verify({ position: 1, digest: "0" })).toMatchObject({ noted: "removed" });
  });

  it("leaves the entries of turns between others, without their ids", async () => {
    const { ids, stateDir } = await fill(3, 2, 1, 0);
    const [first = "", second = "", third = ""] = ids;

    await openArchive(stateDir).remove({ ids: [second, third] });
    const middle = { report: await verify(stateDir), entries: entriesOf(stateDir) };
    await openArchive(stateDir).remove({ ids: [first] });

    expect(middle.report).toMatchObject({ turns: 2, removed: 2 });
    expect(middle.report.fault).toBeUndefined();
    expect(middle.entries).toEqual([
      [1, 0],
      [2, 1],
      [3, 1],
      [4, 0],
    ]);
    expect(entriesOf(stateDir)).toEqual([[4, 0]]);
    expect(await verify(stateDir)).toMatchObject({ turns: 1, removed: 3 });
    expect((await verify(stateDir)).fault).toBeUndefined();
  });

  it("keeps the head when all are removed", async () => {
    const { log, stateDir } = await fill(1, 0);
    const { head } = await verify(stateDir);

    await openArchive(stateDir).remove("all");
    const empty = await verify(stateDir);
    await log.finish(makeRun());

    expect(empty).toMatchObject({ head, turns: 0, removed: 2 });
    expect(await openArchive(stateDir).verify(head)).toMatchObject({ turns: 1, removed: 2, noted: "found" });
  });

  it("counts answers that the limits removed", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    for (let count = 0; count < 40; count++) await log.finish(makeRun({ answer: "x".repeat(10_000) }));

    await prune(stateDir, DAY_MS, 300_000);

    const { fault, turns, withoutAnswer } = await verify(stateDir);
    expect({ fault, turns }).toEqual({ fault: undefined, turns: 40 });
    expect(withoutAnswer).toBeGreaterThan(5);
  });

  it("hides no earlier gap, until nothing is left to verify", async () => {
    const { ids, stateDir } = await fill(9, 8, 7, 1);
    edit(stateDir, "DELETE FROM runs WHERE entry = 2; DELETE FROM record WHERE position = 2");

    await prune(stateDir, 2 * DAY_MS);
    const pruned = await verify(stateDir);
    await openArchive(stateDir).remove({ ids: ids.slice(3) });

    expect(pruned.fault).toEqual({ kind: "missing", entry: 3, run: undefined });
    expect(await verify(stateDir)).toMatchObject({ turns: 0, removed: 4 });
    expect((await verify(stateDir)).fault).toBeUndefined();
  });
});
