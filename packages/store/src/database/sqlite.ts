import { existsSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { BudgieError } from "@budgie/core/errors";

type Value = string | number | bigint | null | Uint8Array;
export type Row = Readonly<Record<string, Value>>;

/** The functions of SQLite that budgie needs, from either library. */
export type Database = {
  exec(sql: string): void;
  all(sql: string, ...values: readonly Value[]): readonly Row[];
  run(sql: string, ...values: readonly Value[]): void;
  close(): void;
};

/** Opens database files. */
export type Sqlite = (path: string, options: { readonly readOnly: boolean }) => Database;

let loaded: Promise<Sqlite> | undefined;

/** Loads better-sqlite3, or node:sqlite if its native part is missing. Throws `RUNNER_UNAVAILABLE` if neither works. */
export function loadSqlite(): Promise<Sqlite> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Sqlite> {
  const problems: string[] = [];
  for (const driver of [loadBetterSqlite, loadNodeSqlite]) {
    try {
      const sqlite = await driver();
      // The native part is only loaded when a database is opened.
      sqlite(":memory:", { readOnly: false }).close();
      return sqlite;
    } catch (error) {
      problems.push(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error));
    }
  }
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `budgie needs SQLite for its run log and for the logins of sandboxes, and neither better-sqlite3 nor node:sqlite works here ` +
      `(${problems.join("; ")}). ${findRemedy(findBetterSqlite())}`,
  );
}

/** Returns why SQLite cannot be loaded, with the remedy; `undefined` if nothing is missing. Loads nothing, to keep the startup fast. */
export function findSqliteProblem(): string | undefined {
  if (isBuiltin("node:sqlite")) return undefined;
  const folder = findBetterSqlite();
  if (folder !== undefined && existsSync(join(folder, "build/Release/better_sqlite3.node"))) return undefined;
  return (
    `SQLite is missing, and every call will fail: better-sqlite3 ${folder === undefined ? "is not installed" : "has no native part"}. ` +
    findRemedy(folder)
  );
}

function findBetterSqlite(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve("better-sqlite3/package.json"));
  } catch {
    return undefined;
  }
}

/** Returns the commands that provide SQLite. SQLite may be missing because install scripts are switched off. */
function findRemedy(folder: string | undefined): string {
  const command =
    folder === undefined
      ? 'Install budgie again with its optional packages, as by "npm install -g budgie-mcp --include=optional --ignore-scripts=false"'
      : `Run "npm rebuild better-sqlite3 --ignore-scripts=false --prefix '${join(folder, "../..")}'"`;
  return `${command} (without a prebuilt binary it needs python3, make and a C++ compiler), or use Node 22.13 or later.`;
}

// The time to wait for a database that another process writes to.
const BUSY_LIMIT_MS = 5000;

async function loadBetterSqlite(): Promise<Sqlite> {
  const { default: Driver } = await import("better-sqlite3");
  return (path, { readOnly }) => {
    const database = new Driver(path, { readonly: readOnly, fileMustExist: readOnly, timeout: BUSY_LIMIT_MS });
    return {
      exec: (sql) => void database.exec(sql),
      all: (sql, ...values) => database.prepare(sql).all(...values) as readonly Row[],
      run: (sql, ...values) => void database.prepare(sql).run(...values),
      close: () => void database.close(),
    };
  };
}

/** The part of node:sqlite that is used here. The types of the oldest supported Node do not have the module. */
type NodeSqlite = {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean; readonly timeout: number },
  ) => {
    exec(sql: string): void;
    prepare(sql: string): { all(...values: readonly Value[]): readonly Row[]; run(...values: readonly Value[]): void };
    close(): void;
  };
};

async function loadNodeSqlite(): Promise<Sqlite> {
  const name: string = "node:sqlite";
  const { DatabaseSync } = (await import(name)) as NodeSqlite;
  return (path, { readOnly }) => {
    const database = new DatabaseSync(path, { readOnly, timeout: BUSY_LIMIT_MS });
    return {
      exec: (sql) => database.exec(sql),
      all: (sql, ...values) => database.prepare(sql).all(...values),
      run: (sql, ...values) => database.prepare(sql).run(...values),
      close: () => database.close(),
    };
  };
}
