import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import { DATABASE, LOGIN_STATE, type KiroLogin } from "./kiro-login.ts";
import { loadSqlite, type Database, type Row } from "@budgie/store";

/** The files beside a database that SQLite would play back over it. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/** A database's files by their endings: `""` for the database itself, and {@link COMPANIONS}. */
export type DatabaseFiles = ReadonlyMap<string, Buffer>;

/** Builds a session's first database: the host's schema and login, and nothing else of the host. */
export function createSessionDatabase(login: KiroLogin, scratchDir: string): Promise<Buffer> {
  return inScratch(scratchDir, new Map(), (database) => {
    for (const statement of login.schema) database.exec(statement);
    insertAll(database, "migrations", login.migrations);
    writeLogin(database, login);
  });
}

/**
 * Puts the host's current login into a session's database and keeps the rest. The files come from the sandbox: they are
 * opened in a scratch folder, with nothing in them trusted to run, and any damage ends the session.
 */
export async function updateSessionDatabase(
  files: DatabaseFiles,
  login: KiroLogin,
  scratchDir: string,
): Promise<Buffer> {
  try {
    refuseLedJournal(files.get("-journal"));
    return await inScratch(scratchDir, files, (database) => {
      distrust(database);
      refuseTraps(database, login.schema);
      writeLogin(database, login);
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new BudgieError(
      "SESSION_UNUSABLE",
      `The session's Kiro database cannot be updated with the current login (${reason}). Begin a new session.`,
      { cause },
    );
  }
}

/**
 * Takes the login out of a session's database, with what SQLite has left of earlier ones in pages that it does not use. Throws
 * where the agent made something of it that would run.
 */
export function clearSessionDatabase(files: DatabaseFiles, scratchDir: string): Promise<Buffer> {
  refuseLedJournal(files.get("-journal"));
  return inScratch(scratchDir, files, (database) => {
    distrust(database);
    refuseTraps(database, []);
    for (const [table, where] of LOGIN_ROWS) {
      if (hasTable(database, table)) database.exec(`DELETE FROM ${table} WHERE ${where}`);
    }
    database.exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA temp_store = MEMORY; VACUUM");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

const LOGIN_ROWS = [
  ["auth_kv", "1"],
  ["state", LOGIN_STATE],
] as const;

function hasTable(database: Database, name: string): boolean {
  return database.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name).length > 0;
}

function distrust(database: Database): void {
  database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
}

async function inScratch(
  scratchDir: string,
  files: DatabaseFiles,
  change: (database: Database) => void,
): Promise<Buffer> {
  await mkdir(scratchDir, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(scratchDir, "login-"));
  try {
    const path = join(folder, DATABASE);
    // SQLite makes the index of a log anew, and must not read one of the agent's.
    const kept = [...files].filter(([ending]) => ending !== "-shm");
    for (const [ending, bytes] of kept) await writeFile(path + ending, bytes, { mode: 0o600 });
    const sqlite = await loadSqlite();
    const database = sqlite(path, { readOnly: false });
    try {
      // The copy is thrown away after a crash, so it need not survive one.
      database.exec("PRAGMA synchronous = OFF");
      change(database);
    } finally {
      database.close();
    }
    return await readFile(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function writeLogin(database: Database, { auth, state }: KiroLogin): void {
  database.exec("BEGIN IMMEDIATE");
  database.exec("DELETE FROM auth_kv");
  insertAll(database, "auth_kv", auth);
  database.exec(`DELETE FROM state WHERE ${LOGIN_STATE}`);
  insertAll(database, "state", state);
  database.exec("COMMIT");
}

const JOURNAL_END = Buffer.from("d9d505f920a163d7", "hex");

/**
 * A journal that ends so names the leader of a transaction over several files, and SQLite deletes that file, wherever it
 * is, when it has played the journal back: https://www.sqlite.org/atomiccommit.html. Kiro has one file.
 */
function refuseLedJournal(journal: Buffer | undefined): void {
  if (journal?.subarray(-JOURNAL_END.length).equals(JOURNAL_END) !== true) return;
  throw new Error("its journal names another file");
}

/** A view or a virtual table in place of a table, or a trigger on one, would run the agent's SQL over the login. */
function refuseTraps(database: Database, schema: readonly string[]): void {
  const found = database
    .all("SELECT type, sql FROM sqlite_master WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL %'")
    .find(({ sql }) => !schema.includes(String(sql)));
  if (found !== undefined) throw new Error(`it holds a ${String(found["type"])} that Kiro did not make`);
}

function insertAll(database: Database, table: string, rows: readonly Row[]): void {
  for (const row of rows) {
    const columns = Object.keys(row).map((name) => `"${name.replaceAll('"', '""')}"`);
    const places = columns.map(() => "?").join(", ");
    database.run(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`, ...Object.values(row));
  }
}
