import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import { loadSqlite, type Database, type Row } from "@budgie/store";
import { DATABASE, LOGIN_STATE } from "./kiro-database.ts";

/** The part of the host's Kiro database that a sandbox gets: its login, and no conversation. */
export type KiroLogin = {
  /** `CREATE` statements, tables first */
  readonly schema: readonly string[];
  readonly migrations: readonly Row[];
  readonly auth: readonly Row[];
  readonly state: readonly Row[];
  /** Hash of `auth` and `state` */
  readonly fingerprint: string;
};

/**
 * Loads the host's login; `undefined` if there is none. The database is opened read-only and read in one transaction, so that
 * a token that is being renewed is never read half.
 */
export async function loadKiroLogin(kiroDataDir: string): Promise<KiroLogin | undefined> {
  const path = join(kiroDataDir, DATABASE);
  if (!existsSync(path)) return undefined;
  const sqlite = await loadSqlite();
  try {
    const database = sqlite(path, { readOnly: true });
    try {
      return readLogin(database);
    } finally {
      database.close();
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `Cannot read Kiro's login from "${path}" (${reason}). Check it with "kiro-cli whoami", or set KIRO_API_KEY.`,
      { cause },
    );
  }
}

/** Returns true if a row of `auth_kv` contains a token; the other rows only serve to renew one. */
export function isToken({ key }: Row): boolean {
  return String(key).endsWith(":token");
}

function readLogin(database: Database): KiroLogin | undefined {
  database.exec("BEGIN");
  const auth = rowsOf(database, "auth_kv", "1");
  if (!auth.some(isToken)) return undefined;
  const state = rowsOf(database, "state", LOGIN_STATE);
  return {
    schema: readSchema(database),
    migrations: rowsOf(database, "migrations", "1"),
    auth,
    state,
    fingerprint: createHash("sha256")
      .update(JSON.stringify([auth, state]))
      .digest("hex"),
  };
}

function readSchema(database: Database): readonly string[] {
  const order = "CASE type WHEN 'table' THEN 0 WHEN 'view' THEN 1 ELSE 2 END";
  return database
    .all(
      `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY ${order}, rowid`,
    )
    .map(({ sql }) => String(sql));
}

function rowsOf(database: Database, table: string, where: string): readonly Row[] {
  const exists = database.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).length > 0;
  return exists ? database.all(`SELECT * FROM ${table} WHERE ${where} ORDER BY 1`) : [];
}
