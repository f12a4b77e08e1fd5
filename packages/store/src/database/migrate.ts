import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, formatOption } from "@budgie/core";
import type { Database } from "./sqlite.ts";

// The statements that turn each version into the next. Released ones never change.
const MIGRATIONS: readonly string[] = [
  // Answers have a table of their own, so that runs are listed without reading them.
  `CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    session TEXT,
    isolation TEXT NOT NULL,
    owner TEXT NOT NULL,
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
    delivered INTEGER NOT NULL,
    timed_out INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX runs_undelivered ON runs (session) WHERE delivered = 0 AND outcome = 'answered';
  CREATE TABLE answers (
    run INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    text TEXT NOT NULL
  ) STRICT;
  CREATE TABLE sessions (
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
  `ALTER TABLE sessions ADD COLUMN origin TEXT`,
  // The figures besides the credits, as JSON.
  `ALTER TABLE runs ADD COLUMN usage TEXT`,
  // Calls of MCP tools, as JSON.
  `ALTER TABLE runs ADD COLUMN mcp TEXT`,
  // Turns in the same directory at the same time, as JSON.
  `ALTER TABLE runs ADD COLUMN others TEXT`,
  `ALTER TABLE sessions ADD COLUMN workspace_path TEXT`,
  // The directory of a turn, and its rights and report as JSON.
  `ALTER TABLE runs ADD COLUMN directory TEXT; ALTER TABLE runs ADD COLUMN facts TEXT`,
  // The totals of an agent program in a session, as JSON; the caller of a turn, and its cost as figures that SQL can add up.
  `ALTER TABLE sessions ADD COLUMN totals TEXT;
  ALTER TABLE runs ADD COLUMN client TEXT;
  ALTER TABLE runs ADD COLUMN model TEXT;
  ALTER TABLE runs ADD COLUMN basis TEXT;
  ALTER TABLE runs ADD COLUMN input_tokens INTEGER;
  ALTER TABLE runs ADD COLUMN cached_tokens INTEGER;
  ALTER TABLE runs ADD COLUMN output_tokens INTEGER;
  ALTER TABLE runs ADD COLUMN thought_tokens INTEGER;
  ALTER TABLE runs ADD COLUMN total_tokens INTEGER;
  ALTER TABLE runs ADD COLUMN cost REAL;
  ALTER TABLE runs ADD COLUMN currency TEXT;
  ALTER TABLE runs ADD COLUMN context_used INTEGER;
  ALTER TABLE runs ADD COLUMN context_size INTEGER;
  UPDATE runs SET input_tokens = usage ->> 'inputTokens', output_tokens = usage ->> 'outputTokens',
    total_tokens = usage ->> 'totalTokens', usage = NULL WHERE usage IS NOT NULL;
  CREATE INDEX runs_usage ON runs (started, agent, directory, client, model, ended, basis, credits, cost, currency,
    input_tokens, cached_tokens, output_tokens, thought_tokens, total_tokens)`,
  // The ways to choose runs of a large log, each in the order of their numbers; and transcripts, apart like answers.
  `CREATE INDEX runs_agent ON runs (agent);
  CREATE INDEX runs_session ON runs (session);
  CREATE INDEX runs_directory ON runs (directory);
  CREATE TABLE transcripts (
    run INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    text TEXT NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT`,
  // The turns that run now with a budget, what each may use, and what was used in each period, reservations included.
  `CREATE TABLE budget_turns (
    run TEXT PRIMARY KEY,
    root TEXT,
    session TEXT,
    owner TEXT NOT NULL,
    started INTEGER NOT NULL,
    ends INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE budget_limits (
    run TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    period TEXT NOT NULL,
    unit TEXT NOT NULL,
    most REAL NOT NULL,
    reserved REAL NOT NULL,
    PRIMARY KEY (run, period, scope, unit)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE budget_totals (
    scope TEXT NOT NULL,
    period TEXT NOT NULL,
    unit TEXT NOT NULL,
    amount REAL NOT NULL,
    touched INTEGER NOT NULL,
    PRIMARY KEY (period, scope, unit)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX budget_touched ON budget_totals (touched)`,
  // Change sets of workspace copies, and the applies that are under way, by the device and inode of their directory.
  `CREATE TABLE change_sets (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL,
    root TEXT NOT NULL,
    created INTEGER NOT NULL,
    state TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    token TEXT NOT NULL,
    content TEXT NOT NULL,
    outcome TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE change_applies (
    root TEXT PRIMARY KEY,
    directory TEXT NOT NULL,
    change_set TEXT NOT NULL,
    phase TEXT NOT NULL,
    owner TEXT NOT NULL,
    plan TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  // The record of turns that have ended, and of applies, discards and undos: a chain of digests, which also holds those of removed ones. A statement that changes
  // columns of recorded turns, unless it adds empty ones, has to begin a new record.
  `ALTER TABLE runs ADD COLUMN entry INTEGER;
  ALTER TABLE runs ADD COLUMN answer_digest TEXT;
  CREATE TABLE record (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    run TEXT,
    detail TEXT,
    content TEXT NOT NULL,
    previous TEXT NOT NULL,
    digest TEXT NOT NULL
  ) STRICT;
  CREATE TABLE record_ends (
    start_position INTEGER NOT NULL,
    start_digest TEXT NOT NULL,
    head_position INTEGER NOT NULL,
    head_digest TEXT NOT NULL,
    runs_before INTEGER NOT NULL
  ) STRICT;
  INSERT INTO record_ends
    VALUES (0, lower(hex(randomblob(32))), 0, '', (SELECT coalesce(max(number), 0) FROM runs));
  UPDATE record_ends SET head_digest = start_digest`,
  // The turns in the order in which their costs are added up, whatever the question.
  `CREATE INDEX runs_groups ON runs (agent, directory, client, model, currency, basis, started, ended, credits, cost,
    input_tokens, cached_tokens, output_tokens, thought_tokens, total_tokens)`,
  // The digest of a transcript, which was in no record before.
  `ALTER TABLE runs ADD COLUMN transcript_digest TEXT`,
  // The contents that each change set needs. For older sets those are all that they name, until they expire.
  `CREATE TABLE IF NOT EXISTS change_objects (
    change_set TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (change_set, digest)
  ) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO change_objects
    SELECT change_sets.id, json_extract(change.value, side.value)
    FROM change_sets, json_each(change_sets.content, '$.changes') AS change,
      json_each('["$.before.digest", "$.after.digest"]') AS side
    WHERE json_extract(change.value, side.value) IS NOT NULL`,
];

/** Migrates an open database to the current version, or throws `STATE_UNUSABLE` if a newer budgie wrote it. */
export async function migrate(database: Database): Promise<void> {
  // Makes a new database return unused pages to the file system. It has no effect once the file has tables.
  database.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA foreign_keys = ON");
  await useWriteAheadLog(database);
  // SQLite copies rows when it makes room. A copy of a removed row must not stay in the file.
  database.exec("PRAGMA secure_delete = FAST");
  // The default, which some writes lower.
  database.exec("PRAGMA synchronous = FULL");
  // The size of the write-ahead log after a checkpoint.
  database.exec(`PRAGMA journal_size_limit = ${LOG_KEPT_BYTES}`);
  if (readVersion(database) === MIGRATIONS.length) return;
  database.exec("BEGIN IMMEDIATE");
  // Another process may have migrated it meanwhile.
  const version = readVersion(database);
  if (version > MIGRATIONS.length) {
    throw new BudgieError(
      "STATE_UNUSABLE",
      `The run log is of a newer budgie (version ${version}, and this one knows ${MIGRATIONS.length}). Update budgie, or choose another place with ${formatOption("stateDir")}.`,
    );
  }
  for (const statement of MIGRATIONS.slice(version)) database.exec(statement);
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
}

const LOG_KEPT_BYTES = 4 * 1024 * 1024;

function readVersion(database: Database): number {
  return Number(database.all("PRAGMA user_version")[0]?.["user_version"]);
}

const WAITS_MS = [10, 20, 50, 100, 200, 400, 800];

/** Switches to a write-ahead log. SQLite does not wait for this lock, and may reject two processes that switch at once. */
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
