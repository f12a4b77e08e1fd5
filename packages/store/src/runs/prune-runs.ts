import { forgetRuns } from "../record/forget-runs.ts";
import type { Database } from "../database/sqlite.ts";

/** The limits of the run log; `undefined` for no limit. */
export type Retention = {
  readonly maxAgeMs: number | undefined;
  /** The maximal size of the database */
  readonly maxBytes: number | undefined;
};

export const DEFAULT_RETENTION: Retention = { maxAgeMs: 30 * 24 * 60 * 60 * 1000, maxBytes: 256 * 1024 ** 2 };

/** The number of runs above which the oldest are removed */
const RUNS_KEPT = 100_000;

/**
 * Removes runs that are too old or too many. If the database is too large, removes the oldest transcripts, then answers, then the oldest runs, but not the
 * last one. A removed run that has not ended is added again when it ends.
 */
export function pruneRuns(database: Database, { maxAgeMs, maxBytes }: Retention): void {
  forgetRuns(database, "number <= (SELECT max(number) FROM runs) - ?", RUNS_KEPT);
  if (maxAgeMs !== undefined) forgetRuns(database, "started < ?", Date.now() - maxAgeMs);
  if (maxBytes !== undefined) {
    dropTexts(database, maxBytes, "transcripts");
    dropTexts(database, maxBytes, "answers");
    dropRuns(database, maxBytes);
  }
  giveBackPages(database);
}

// The overhead of a row is unknown; some rounds are precise enough.
const MOST_ROUNDS = 20;

// The text of a run and its bytes, in each table of texts.
const TEXTS = {
  answers: "SELECT run, answer_bytes AS bytes FROM answers JOIN runs ON run = number",
  transcripts: "SELECT run, bytes FROM transcripts",
};

/** Removes the oldest texts of a database that is too large, but not the last one. */
function dropTexts(database: Database, maxBytes: number, table: keyof typeof TEXTS): void {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const surplusBytes = usedBytes(database) - maxBytes;
    if (surplusBytes <= 0 || count(database, table) < 2) return;
    database.run(
      `DELETE FROM ${table} WHERE run < (SELECT max(run) FROM ${table}) AND run IN (
        SELECT run FROM (SELECT run, sum(bytes) OVER (ORDER BY run) - bytes AS before FROM (${TEXTS[table]})) WHERE before < ?)`,
      surplusBytes,
    );
  }
}

function dropRuns(database: Database, maxBytes: number): void {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const runs = count(database, "runs");
    if (usedBytes(database) <= maxBytes || runs < 2) return;
    forgetRuns(
      database,
      "number < (SELECT max(number) FROM runs) AND number IN (SELECT number FROM runs ORDER BY number LIMIT ?)",
      Math.ceil(runs / 5),
    );
  }
}

function usedBytes(database: Database): number {
  return (pragma(database, "page_count") - pragma(database, "freelist_count")) * pragma(database, "page_size");
}

// Releasing this many takes some milliseconds. The other free pages are used for new runs, or released the next time.
const PAGES_AT_ONCE = 2000;

/** Releases free pages of the file to the file system. */
function giveBackPages(database: Database): void {
  if (pragma(database, "freelist_count") > 0) database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
}

function pragma(database: Database, name: string): number {
  return Number(database.all(`PRAGMA ${name}`)[0]?.[name]);
}

function count(database: Database, table: "answers" | "runs" | "transcripts"): number {
  return Number(database.all(`SELECT count(*) AS count FROM ${table}`)[0]?.["count"]);
}
