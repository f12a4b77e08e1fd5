import { accessSync, closeSync, constants, existsSync, fchmodSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BudgieError } from "@budgie/core";
import { migrate } from "./migrate.ts";
import { loadSqlite, type Database } from "./sqlite.ts";

/** The database of all that outlives a process of budgie. */
export type StateDatabase = {
  /** Whether anything was ever kept */
  exists(): boolean;
  /** Throws where it could not be opened, or made; writes nothing */
  check(): Promise<void>;
  /** Opens it, or makes it, with the first call */
  connect(): Promise<Database>;
  /** The error to tell the user, whatever was thrown */
  toProblem(error: unknown): BudgieError;
  readonly close: () => void;
};

const FILE = "runs.sqlite3";

/** Creates a way to the database in a state directory; nothing is looked at or loaded before the first call. */
export function createStateDatabase(stateDir: string): StateDatabase {
  const path = join(stateDir, FILE);
  let opening: Promise<Database> | undefined;
  let open: { readonly database: Database; readonly file: string | undefined } | undefined;

  function close(): void {
    open?.database.close();
    open = undefined;
    opening = undefined;
  }

  async function connect(): Promise<Database> {
    // What is written to one that was removed, or moved away as a broken one is to be, nobody would find.
    if (open !== undefined && open.file !== toFileId(path)) close();
    opening ??= openDatabase(stateDir, path);
    try {
      const database = await opening;
      open ??= { database, file: toFileId(path) };
      return database;
    } catch (error) {
      // A full disk may have room again by the next turn.
      opening = undefined;
      throw error;
    }
  }

  return {
    async check() {
      await loadSqlite();
      if (existsSync(path)) await connect();
      else checkPlace(stateDir);
    },
    exists: () => existsSync(path),
    connect,
    toProblem(error) {
      if (error instanceof BudgieError) return error;
      const reason = error instanceof Error ? error.message : String(error);
      return new BudgieError(
        "CONFIG_INVALID",
        `Cannot use the run log "${path}" (${reason}). Make it writable, or move it away if it is broken.`,
        { cause: error },
      );
    },
    close,
  };
}

/** The file that a path leads to, whatever else comes to have that name. */
function toFileId(path: string): string | undefined {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? undefined : `${facts.dev}:${facts.ino}`;
}

/** Whether there is a folder, or one can be made. */
function checkPlace(folder: string): void {
  const isFound = statSync(folder, { throwIfNoEntry: false }) !== undefined;
  if (!isFound && dirname(folder) !== folder) return checkPlace(dirname(folder));
  accessSync(`${folder}/`, constants.W_OK | constants.X_OK);
}

async function openDatabase(stateDir: string, path: string): Promise<Database> {
  const sqlite = await loadSqlite();
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
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
