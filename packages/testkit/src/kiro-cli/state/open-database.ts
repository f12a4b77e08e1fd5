import Database from "better-sqlite3";
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { toExitError, toReason } from "../profile/exit-error.ts";

/** An open `data.sqlite3`. */
export type KiroDatabase = Database.Database;

// Index = version. Like the real migrations, none has "if not exists": tables without their `migrations` rows are an error.
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE migrations (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, migration_time INTEGER NOT NULL)`,
  `CREATE TABLE history (id INTEGER PRIMARY KEY, command TEXT, shell TEXT, pid INTEGER, session_id TEXT, cwd TEXT,
     time INTEGER, in_ssh INTEGER, in_docker INTEGER, hostname TEXT, exit_code INTEGER)`,
  `ALTER TABLE history DROP COLUMN in_ssh; ALTER TABLE history DROP COLUMN in_docker`,
  `ALTER TABLE history RENAME COLUMN time TO start_time; ALTER TABLE history ADD COLUMN end_time INTEGER;
   ALTER TABLE history ADD COLUMN duration INTEGER`,
  `CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT)`,
  `CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT)`,
  `DROP TABLE state; CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB)`,
  `CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT)`,
  `CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL,
     created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (key, conversation_id))`,
  `CREATE INDEX idx_conversations_v2_key_updated ON conversations_v2 (key, updated_at DESC);
   CREATE INDEX idx_conversations_v2_updated_at ON conversations_v2 (updated_at DESC)`,
];

/** Opens the database like Kiro: creates it if it is missing, sets mode 0600, and runs the missing migrations. */
export function openDatabase(file: string, options: { readonly wal: boolean }): KiroDatabase {
  try {
    mkdirSync(dirname(file), { recursive: true });
    closeSync(openSync(file, "a", 0o600));
    if ((statSync(file).mode & 0o777) !== 0o600) chmodSync(file, 0o600);
    const database = new Database(file, { timeout: 5000 });
    if (options.wal) database.pragma("journal_mode = WAL");
    migrate(database);
    return database;
  } catch (error) {
    throw toExitError(1, `error: Failed to open database at ${file}: ${toReason(error)}`);
  }
}

/** Runs the missing migrations in one transaction: each that ends waits for the disk, and most tests open a new database. */
function migrate(database: KiroDatabase): void {
  const done = appliedVersions(database);
  if (done.size === MIGRATIONS.length) return;
  database.transaction(() => {
    for (const [version, sql] of MIGRATIONS.entries()) {
      if (done.has(version)) continue;
      database.exec(sql);
      const row = database.prepare("INSERT INTO migrations (version, migration_time) VALUES (?, ?)");
      row.run(version, Math.floor(Date.now() / 1000));
    }
  })();
}

function appliedVersions(database: KiroDatabase): ReadonlySet<number> {
  const table = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'").get();
  if (table === undefined) return new Set();
  return new Set(database.prepare<[], number>("SELECT version FROM migrations").pluck().all());
}

/** Writes the counters that Kiro writes before every turn, which is why a read-only database breaks a chat. */
export function countRun(database: KiroDatabase): void {
  try {
    const sql = `INSERT INTO state (key, value) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET value = value + 1`;
    database.prepare(sql).run("changelog.showCount");
  } catch (error) {
    throw toExitError(1, `error: Failed to update the database: ${toReason(error)}`);
  }
}
