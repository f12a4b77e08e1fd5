import { writeFileSync, rmSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";

// Takes longer than any test.
const ENDLESS = "SELECT 1 FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c)";
const SLOW = "instr(hex(zeroblob(200000000)), hex(randomblob(1000000)))";

/** Changes of a database with which an agent can make SQLite execute its expressions, by name. */
export const HOSTILE_SQL: Readonly<Record<string, string>> = {
  "a trigger": `CREATE TRIGGER t AFTER INSERT ON auth_kv BEGIN ${ENDLESS}; END`,
  "a trigger that calls itself something else": `
    CREATE TRIGGER t AFTER INSERT ON auth_kv BEGIN ${ENDLESS}; END;
    CREATE TRIGGER d AFTER DELETE ON auth_kv BEGIN ${ENDLESS}; END;
    UPDATE sqlite_master SET type = 'TRIGGER' WHERE type = 'trigger'`,
  "a check": `DROP TABLE auth_kv; CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT CHECK (${SLOW} = 0))`,
  "a default": `DROP TABLE auth_kv; CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT, more TEXT DEFAULT (${SLOW}))`,
  "an index on an expression": `DELETE FROM auth_kv; CREATE INDEX i ON auth_kv (${SLOW.replace("randomblob(1000000)", "key")})`,
  "an index on some rows": `DELETE FROM auth_kv; CREATE INDEX i ON auth_kv (key) WHERE ${SLOW.replace("randomblob(1000000)", "key")} > 0`,
  "a generated column": `DELETE FROM auth_kv; ALTER TABLE auth_kv ADD COLUMN g AS (${SLOW.replace("randomblob(1000000)", "key")})`,
  "a view": "CREATE VIEW v AS SELECT 1",
  "a view in place of a table": `DROP TABLE conversations; CREATE VIEW conversations AS ${ENDLESS}`,
  "a virtual table in place of a table": "DROP TABLE auth_kv; CREATE VIRTUAL TABLE auth_kv USING fts5(key, value)",
};

/** Changes a database's schema directly, which SQLite advises against. */
export function spoil(database: Buffer, sql: string): Buffer {
  const path = join(tmpdir(), `budgie-hostile-${randomUUID()}`);
  writeFileSync(path, database);
  const opened = new Database(path);
  try {
    opened.unsafeMode();
    opened.exec(`PRAGMA writable_schema = ON; ${sql}`);
    return opened.serialize();
  } finally {
    opened.close();
    rmSync(path);
  }
}

// All children of a page are the same page, on many levels: more rows than can ever be read.
const LEVELS = 15;
const CHILDREN = 600;
const INTERIOR = 5;

/** Makes a table's rows repeat endlessly. All of them must be on its first page. */
export function makeEndless(database: Buffer, table: string): Buffer {
  const size = database.readUInt16BE(16);
  const root = (findRoot(database, table) - 1) * size;
  const pages = database.length / size;
  const leaf = database.subarray(root, root + size);
  const levels = Array.from({ length: LEVELS }, (_, level) => toInterior(pages + level + 2, size));
  const made = Buffer.concat([database, ...levels, leaf]);
  toInterior(pages + 1, size).copy(made, root);
  made.writeUInt32BE(made.length / size, 28);
  return made;
}

function findRoot(database: Buffer, table: string): number {
  const opened = new Database(database);
  try {
    return Number(opened.prepare("SELECT rootpage FROM sqlite_master WHERE name = ?").pluck().get(table));
  } finally {
    opened.close();
  }
}

/** Creates a page of a table's tree whose children are all the same page. */
function toInterior(child: number, size: number): Buffer {
  const page = Buffer.alloc(size);
  const cell = size - 5;
  page.writeUInt8(INTERIOR, 0);
  page.writeUInt16BE(CHILDREN, 3);
  page.writeUInt16BE(cell, 5);
  page.writeUInt32BE(child, 8);
  for (let index = 0; index < CHILDREN; index++) page.writeUInt16BE(cell, 12 + 2 * index);
  page.writeUInt32BE(child, cell);
  page.writeUInt8(1, size - 1);
  return page;
}
