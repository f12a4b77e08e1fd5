import { closeSync, existsSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { loadSqlite, type Database } from "@budgie/store/sqlite";
import { isPlainSql } from "./is-plain-sql.ts";
import { DATABASE, LOGIN_STATE } from "./kiro-database.ts";

/** Names of the files in a copy's folder. */
export const COPY_FILES = { session: DATABASE, host: "host.sqlite3", copy: "copy.sqlite3" } as const;

/** The exit code of a process that refuses to copy, with the reason on stderr. */
export const REFUSED = 3;

/**
 * Copies a session's database into a new one without its login, and adds the login of the host's database if that is in
 * the folder. An agent wrote the session's database, so reading it may take any amount of time, memory and disk: run this in
 * a separate process. Accepts only tables and indexes that are identical to the host's or consist of names, types and keys,
 * and throws for any other definition, so that SQLite evaluates no expression of the agent's.
 */
export async function copyDatabase(folder: string): Promise<void> {
  const pathOf = (name: string): string => join(folder, name);
  refuseSuperJournal(`${pathOf(COPY_FILES.session)}-journal`);
  // SQLite rebuilds the WAL index, and must not read the agent's.
  rmSync(`${pathOf(COPY_FILES.session)}-shm`, { force: true });
  const sqlite = await loadSqlite();
  const database = sqlite(pathOf(COPY_FILES.copy), { readOnly: false });
  database.exec(CAREFUL);
  database.run("ATTACH ? AS host", pathOf(COPY_FILES.host));
  database.run("ATTACH ? AS session", pathOf(COPY_FILES.session));
  database.exec("BEGIN");
  copySchemaAndRows(database);
  for (const table of ["auth_kv", "state"]) copyLogin(database, table);
  database.exec("COMMIT");
  database.close();
}

// The copy is discarded after a crash, so it need not be durable.
const CAREFUL = `PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF;
  PRAGMA temp_store = MEMORY; PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF`;

function copySchemaAndRows(database: Database): void {
  const known = new Set(readSchema(database, "host").map(({ sql }) => sql));
  const things = readSchema(database, "session");
  const foreign = things.find(({ sql }) => !known.has(sql) && !isPlainSql(sql));
  if (foreign !== undefined) throw new Error(`it holds a ${foreign.type} that Kiro did not make`);
  const tables = things.filter(({ sql }) => /^CREATE TABLE /i.test(sql));
  for (const { name, sql } of tables) {
    database.exec(sql);
    // NOT INDEXED, since an index may be corrupt. A WHERE clause keeps SQLite from copying whole pages of tables and indexes.
    const rows = `SELECT * FROM session.${quote(name)} NOT INDEXED WHERE ${KEPT.get(name.toLowerCase()) ?? "TRUE"}`;
    database.exec(`INSERT INTO main.${quote(name)} ${rows}`);
  }
  for (const thing of things) if (!tables.includes(thing)) database.exec(thing.sql);
}

// Conditions for the rows that are not part of a login.
const KEPT: ReadonlyMap<string, string> = new Map([
  ["auth_kv", "FALSE"],
  ["state", `(${LOGIN_STATE}) IS NOT TRUE`],
]);

type Thing = { readonly type: string; readonly name: string; readonly sql: string };

function readSchema(database: Database, schema: "host" | "session"): readonly Thing[] {
  const own = `name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`;
  return database
    .all(`SELECT type, name, sql FROM ${schema}.sqlite_master WHERE ${own} ORDER BY rowid`)
    .map(({ name, sql, type }) => ({ type: String(type), name: String(name), sql: String(sql) }));
}

function copyLogin(database: Database, table: string): void {
  const columns = database.all(`PRAGMA host.table_info(${table})`).map(({ name }) => quote(String(name)));
  if (columns.length === 0) return;
  const list = columns.join(", ");
  database.exec(`INSERT INTO main.${table} (${list}) SELECT ${list} FROM host.${table}`);
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const JOURNAL_END = Buffer.from("d9d505f920a163d7", "hex");

/**
 * Throws if a journal ends with the name of a super-journal: after a rollback, SQLite deletes that file at any path
 * (https://www.sqlite.org/atomiccommit.html). Kiro's database is a single file, which has none.
 */
function refuseSuperJournal(path: string): void {
  if (readEnd(path, JOURNAL_END.length).equals(JOURNAL_END)) throw new Error("its journal names another file");
}

function readEnd(path: string, length: number): Buffer {
  const end = Buffer.alloc(length);
  if (!existsSync(path)) return end;
  const file = openSync(path, "r");
  try {
    readSync(file, end, 0, length, Math.max(0, fstatSync(file).size - length));
    return end;
  } finally {
    closeSync(file);
  }
}
