import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { Database } from "./sqlite.ts";

// What makes each version out of the one before it; those that were released never change.
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    session TEXT,
    isolation TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    exit_code INTEGER,
    exit_signal TEXT,
    prompt_bytes INTEGER NOT NULL,
    answer_bytes INTEGER,
    retried INTEGER NOT NULL,
    error TEXT,
    egress TEXT
  ) STRICT`,
  `CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL,
    isolation TEXT NOT NULL,
    begun INTEGER NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL,
    keep_ms INTEGER,
    instance TEXT NOT NULL,
    owner TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,

  // A run has a row from its beginning, and its answer one of its own, so that the list is read without them.
  `CREATE TABLE runs_begun (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    session TEXT,
    isolation TEXT NOT NULL,
    owner TEXT,
    started INTEGER NOT NULL,
    ended INTEGER,
    outcome TEXT,
    exit_code INTEGER,
    exit_signal TEXT,
    prompt_bytes INTEGER NOT NULL,
    answer_bytes INTEGER,
    retried INTEGER NOT NULL,
    error TEXT,
    egress TEXT,
    credits REAL,
    delivered INTEGER NOT NULL
  ) STRICT;
  INSERT INTO runs_begun
    SELECT number, id, agent, session, isolation, NULL, started, ended, outcome, exit_code, exit_signal, prompt_bytes,
      answer_bytes, retried, error, egress, NULL, 1 FROM runs;
  DROP TABLE runs;
  ALTER TABLE runs_begun RENAME TO runs;
  CREATE INDEX runs_undelivered ON runs (session) WHERE delivered = 0 AND outcome = 'answered';
  CREATE TABLE answers (
    run INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    text TEXT NOT NULL
  ) STRICT`,

  `ALTER TABLE runs ADD COLUMN timed_out INTEGER NOT NULL DEFAULT 0;
  UPDATE runs SET timed_out = 1 WHERE outcome = 'TIMED_OUT'`,
];

/** Brings an open database to what this budgie writes, or throws `CONFIG_INVALID` for one of a newer budgie. */
export async function migrate(database: Database): Promise<void> {
  // A new file gives back what it no longer needs; it has to be said before anything is in it.
  database.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA foreign_keys = ON");
  await useWriteAheadLog(database);
  // Making room copies rows, and what is removed for good must have left no copy of itself behind.
  database.exec("PRAGMA secure_delete = FAST");
  // Who wants less says so.
  database.exec("PRAGMA synchronous = FULL");
  // Of the log beside the file, once it went into it.
  database.exec(`PRAGMA journal_size_limit = ${LOG_KEPT_BYTES}`);
  if (versionOf(database) === MIGRATIONS.length) return;
  database.exec("BEGIN IMMEDIATE");
  // Another process may have been here first.
  const version = versionOf(database);
  if (version > MIGRATIONS.length) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The run log is of a newer budgie (version ${version}, and this one knows ${MIGRATIONS.length}). Update budgie, or choose another place with --state-dir.`,
    );
  }
  for (const statement of MIGRATIONS.slice(version)) database.exec(statement);
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
}

const LOG_KEPT_BYTES = 4 * 1024 * 1024;

function versionOf(database: Database): number {
  return Number(database.all("PRAGMA user_version")[0]?.["user_version"]);
}

const WAITS_MS = [10, 20, 50, 100, 200, 400, 800];

/** Two that change the mode at once may both be refused, without waiting as for any other lock. */
async function useWriteAheadLog(database: Database): Promise<void> {
  for (const waitMs of WAITS_MS) {
    try {
      return database.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("locked")) throw error;
      await sleep(waitMs);
    }
  }
  database.exec("PRAGMA journal_mode = WAL");
}
