import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import { loadSqlite, type Database, type Row } from "@budgie/store";
import { COPY_FILES } from "./copy-database.ts";
import { copySessionDatabase } from "./copy-session-database.ts";
import type { HostFile } from "../home/home-archive.ts";
import type { KiroLogin } from "./kiro-login.ts";
import { createScratchFolder } from "./scratch-folder.ts";

/** The part of the host's Kiro database that a session's database gets: its schema, and perhaps its login. */
export type HostDatabase = Pick<KiroLogin, "auth" | "migrations" | "schema" | "state">;

/** Creates a session's first database from the host's schema and login. */
export async function createSessionDatabase(
  { auth, migrations, schema, state }: HostDatabase,
  scratchDir: string,
): Promise<Buffer> {
  await using folder = createScratchFolder(scratchDir);
  const path = join(folder.path, "created.sqlite3");
  const sqlite = await loadSqlite();
  const database = sqlite(path, { readOnly: false });
  try {
    // The file need not survive a crash.
    database.exec("PRAGMA synchronous = OFF; BEGIN");
    for (const statement of schema) database.exec(statement);
    insertAll(database, "migrations", migrations);
    insertAll(database, "auth_kv", auth);
    insertAll(database, "state", state);
    database.exec("COMMIT");
  } finally {
    database.close();
  }
  return await readFile(path);
}

export type Renewal = {
  /** The folder with a copy of the sandbox's database */
  readonly folder: string;
  /** The result of {@link createSessionDatabase}; without it the new database has no login */
  readonly host?: Buffer | undefined;
  readonly signal: AbortSignal;
};

/** Copies a session's database into a new one, with the host's login in place of its own. Throws `SESSION_UNUSABLE` if that fails. */
export async function renewSessionDatabase({ folder, host, signal }: Renewal): Promise<HostFile> {
  if (host !== undefined) await writeFile(join(folder, COPY_FILES.host), host, { mode: 0o600 });
  try {
    const path = await copySessionDatabase(folder, signal);
    return { path, bytes: (await stat(path)).size };
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new BudgieError(
      "SESSION_UNUSABLE",
      `The session's Kiro database cannot be copied (${reason}). Begin a new session.`,
      { cause },
    );
  }
}

function insertAll(database: Database, table: string, rows: readonly Row[]): void {
  for (const row of rows) {
    const columns = Object.keys(row).map((name) => `"${name.replaceAll('"', '""')}"`);
    const places = columns.map(() => "?").join(", ");
    database.run(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`, ...Object.values(row));
  }
}
