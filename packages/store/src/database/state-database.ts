import { accessSync, closeSync, constants, existsSync, fchmodSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BudgieError } from "@budgie/core";
import { migrate } from "./migrate.ts";
import { loadSqlite, type Database } from "./sqlite.ts";

/** The database of everything that outlives a process of budgie. */
export type StateDatabase = {
  /** Returns true if the file exists. */
  exists(): boolean;
  /** Throws if it could not be opened or created; writes nothing. */
  check(): Promise<void>;
  /** Opens or creates it on the first call. */
  connect(): Promise<Database>;
  /** Converts anything that was thrown into an error for the user. */
  toProblem(error: unknown): BudgieError;
  readonly close: () => void;
};

const FILE = "runs.sqlite3";

/** Creates access to the database in a state directory. Nothing is opened or loaded before the first call. */
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
    // If the file was removed, or moved away as damaged, writes to it would be lost.
    if (open !== undefined && open.file !== readFileId(path)) close();
    opening ??= openDatabase(stateDir, path);
    try {
      const database = await opening;
      open ??= { database, file: readFileId(path) };
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
        "STATE_UNUSABLE",
        `Cannot use the run log "${path}" (${reason}). Make it writable, or move it away if it is broken.`,
        { cause: error },
      );
    },
    close,
  };
}

/** Identifies the file at a path by device and inode. */
function readFileId(path: string): string | undefined {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? undefined : `${facts.dev}:${facts.ino}`;
}

/** Throws unless the folder can be written to, or created. */
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

/** Creates the file with private permissions before SQLite does. SQLite gives the files beside it the same permissions. */
function makePrivate(path: string): void {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  const file = openSync(path, O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
  try {
    fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}
