import type { Database } from "./sqlite.ts";

/** How much of the past is kept; `undefined` for no limit. */
export type Retention = {
  readonly maxAgeMs: number | undefined;
  /** Of the database */
  readonly maxBytes: number | undefined;
};

export const DEFAULT_RETENTION: Retention = { maxAgeMs: 30 * 24 * 60 * 60 * 1000, maxBytes: 256 * 1024 ** 2 };

/** The oldest go when there are more */
const RUNS_KEPT = 10_000;

/**
 * Removes what is too old or too much: of too much the oldest answers first, then the oldest runs. The last run stays, and
 * one that is not over and goes all the same comes back when it is.
 */
export function pruneRuns(database: Database, { maxAgeMs, maxBytes }: Retention): void {
  database.run("DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - ?", RUNS_KEPT);
  if (maxAgeMs !== undefined) database.run("DELETE FROM runs WHERE started < ?", Date.now() - maxAgeMs);
  if (maxBytes !== undefined) {
    dropAnswers(database, maxBytes);
    dropRuns(database, maxBytes);
  }
  giveBackPages(database);
}

// What a row takes besides its text is not known; after some rounds it is near enough.
const MOST_ROUNDS = 20;

function dropAnswers(database: Database, maxBytes: number): void {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const surplusBytes = usedBytes(database) - maxBytes;
    if (surplusBytes <= 0 || count(database, "answers") < 2) return;
    database.run(
      `DELETE FROM answers WHERE run < (SELECT max(run) FROM answers) AND run IN (
        SELECT run FROM (
          SELECT run, sum(answer_bytes) OVER (ORDER BY run) - answer_bytes AS before FROM answers JOIN runs ON run = number
        ) WHERE before < ?)`,
      surplusBytes,
    );
  }
}

function dropRuns(database: Database, maxBytes: number): void {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const runs = count(database, "runs");
    if (usedBytes(database) <= maxBytes || runs < 2) return;
    database.run(
      `DELETE FROM runs WHERE number < (SELECT max(number) FROM runs)
        AND number IN (SELECT number FROM runs ORDER BY number LIMIT ?)`,
      Math.ceil(runs / 5),
    );
  }
}

function usedBytes(database: Database): number {
  return (pragma(database, "page_count") - pragma(database, "freelist_count")) * pragma(database, "page_size");
}

// As many as take some milliseconds: the rest is for the next time, and is used for new runs until then.
const PAGES_AT_ONCE = 2000;

/** Makes the file smaller by what is free in it. */
function giveBackPages(database: Database): void {
  if (pragma(database, "freelist_count") > 0) database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
}

function pragma(database: Database, name: string): number {
  return Number(database.all(`PRAGMA ${name}`)[0]?.[name]);
}

function count(database: Database, table: "answers" | "runs"): number {
  return Number(database.all(`SELECT count(*) AS count FROM ${table}`)[0]?.["count"]);
}
