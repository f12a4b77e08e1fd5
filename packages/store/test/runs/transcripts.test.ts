import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pruneRuns } from "../../src/runs/prune-runs.ts";
import { createStateDatabase } from "../../src/database/state-database.ts";
import { createFolder, makeRun, open, openArchive, query } from "../helpers.ts";

describe("a transcript", () => {
  it("is kept if that is asked for, and found by the beginning of its run's id", async () => {
    const stateDir = createFolder();
    const run = makeRun({ transcript: "I look." });
    const silent = makeRun();
    const log = open(stateDir, { keepTranscripts: true });
    for (const one of [run, silent]) await log.finish(one);
    const archive = openArchive(stateDir);

    expect(log.keepsTranscripts).toBe(true);
    expect(await archive.transcript(run.id.slice(0, 20))).toEqual({ id: run.id, outcome: "answered", text: "I look." });
    expect(await archive.transcript(silent.id)).toMatchObject({ text: undefined });
    expect(await archive.transcript("no such run")).toBeUndefined();
    expect(JSON.stringify([await archive.find(run.id), await archive.recent({ limit: 9 })])).not.toContain("I look.");
  });

  it("is not kept by default", async () => {
    const stateDir = createFolder();
    const run = makeRun({ transcript: "I look." });
    const log = open(stateDir);
    await log.finish(run);

    expect(log.keepsTranscripts).toBe(false);
    expect(query(stateDir, "SELECT * FROM transcripts")).toEqual([]);
  });

  it("leaves the file with its run", async () => {
    const stateDir = createFolder();
    const run = makeRun({ transcript: "a secret that it printed" });
    const log = open(stateDir, { keepTranscripts: true });
    await log.finish(run);
    const path = join(stateDir, "runs.sqlite3");

    await openArchive(stateDir).remove({ ids: [run.id] });

    log.close();
    expect(query(stateDir, "SELECT * FROM transcripts")).toEqual([]);
    expect(readFileSync(path).includes("a secret that it printed")).toBe(false);
  });

  it("is removed before answers from a log that is too large, the oldest first", async () => {
    const stateDir = createFolder();
    const log = open(stateDir, { keepTranscripts: true });
    const runs = Array.from({ length: 30 }, () =>
      makeRun({ transcript: "t".repeat(20_000), answer: "a".repeat(5000) }),
    );
    for (const run of runs) await log.finish(run);
    log.close();

    const state = createStateDatabase(stateDir);
    pruneRuns(await state.connect(), { maxAgeMs: undefined, maxBytes: 500_000 });
    state.close();

    const kept = query(stateDir, "SELECT run FROM transcripts ORDER BY run").map((row) => (row as { run: number }).run);
    expect(kept.length).toBeGreaterThan(5);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 31 - kept.length + index));
    expect(query(stateDir, "SELECT count(*) AS count FROM answers")).toEqual([{ count: 30 }]);
  });
});
