import { closeSync, constants, fchmodSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { migrate } from "./migrate.ts";
import { loadSqlite, type Database } from "./sqlite.ts";

/** The database of all that outlives a process, in the state directory. */
export const STATE_DATABASE = "runs.sqlite3";

/** Opens the database, or makes it; nobody but the user can read it. */
export async function openStateDatabase(path: string): Promise<Database> {
  const sqlite = await loadSqlite();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  makePrivate(path);
  const database = sqlite(path, { readOnly: false });
  try {
    await migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Before SQLite makes it, with whatever rights are usual; what it puts beside it has the same. */
function makePrivate(path: string): void {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  const file = openSync(path, O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
  try {
    fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}
