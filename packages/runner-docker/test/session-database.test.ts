import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHostHome } from "@budgie/testkit";
import { loadKiroLogin, type KiroLogin } from "../src/kiro-login.ts";
import { createSessionDatabase, updateSessionDatabase } from "../src/session-database.ts";

let root: string;
let scratch: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "budgie-session-db-"));
  scratch = join(root, "scratch");
});
afterEach(() => {
  // Copies of the login live for milliseconds.
  expect(existsSync(scratch) ? readdirSync(scratch) : []).toEqual([]);
  rmSync(root, { recursive: true });
});

/** Opens a database's bytes, as Kiro would in the sandbox. */
function open(bytes: Buffer): Database.Database {
  const path = join(root, `copy-${Math.random()}`);
  writeFileSync(path, bytes);
  return new Database(path);
}

const rows = (bytes: Buffer, sql: string): unknown[] => {
  const database = open(bytes);
  try {
    return database.prepare(sql).raw().all().flat();
  } finally {
    database.close();
  }
};

/** Lets an agent work on a session's database, and gives all files that it left. */
function work(bytes: Buffer, act: (database: Database.Database) => void, hot = false): ReadonlyMap<string, Buffer> {
  const path = join(root, "agent.sqlite3");
  writeFileSync(path, bytes);
  const database = new Database(path);
  act(database);
  if (!hot) database.close();
  const endings = ["", "-wal", "-shm", "-journal"].filter((ending) => existsSync(path + ending));
  const files = new Map(endings.map((ending) => [ending, readFileSync(path + ending)]));
  if (hot) database.close();
  return files;
}

const say = (database: Database.Database): void =>
  void database.prepare("INSERT INTO conversations (key, value) VALUES ('/workspace', 'what was said')").run();
const SAID = "SELECT value FROM conversations";

async function logins(): Promise<{ readonly before: KiroLogin; readonly after: KiroLogin }> {
  await using host = await createHostHome();
  const before = await loadKiroLogin(host.dataDir);
  if (before === undefined) throw new Error("no login");
  return { before, after: { ...before, auth: [{ key: "kirocli:odic:token", value: "the new token" }] } };
}

describe("createSessionDatabase", () => {
  it.each([false, true])("holds the schema, the migrations and the login, and nothing else (WAL: %s)", async (wal) => {
    await using host = await createHostHome({ wal });
    const login = await loadKiroLogin(host.dataDir);
    if (login === undefined) throw new Error("no login");

    const bytes = await createSessionDatabase(login, scratch);

    const counts =
      "SELECT (SELECT count(*) FROM history) + (SELECT count(*) FROM conversations) + (SELECT count(*) FROM conversations_v2)";
    expect(rows(bytes, counts)).toEqual([0]);
    expect(rows(bytes, "SELECT key FROM state ORDER BY key")).toEqual([
      "api.codewhisperer.profile",
      "auth.idc.region",
      "auth.idc.start-url",
    ]);
    expect(rows(bytes, "SELECT count(*) FROM auth_kv")).toEqual([2]);
    expect(rows(bytes, "SELECT version FROM migrations ORDER BY 1")).toEqual(
      login.migrations.map(({ version }) => version),
    );
    expect(rows(bytes, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1")).toEqual(
      login.schema.toSorted(),
    );
  });

  it.each([false, true])("holds no byte of what is the host's own (WAL: %s)", async (wal) => {
    await using host = await createHostHome({ wal });
    const login = await loadKiroLogin(host.dataDir);
    if (login === undefined) throw new Error("no login");

    const text = (await createSessionDatabase(login, scratch)).toString("latin1");

    const { login: token, ...others } = host.canaries;
    expect(text).toContain(token);
    for (const canary of Object.values(others)) expect(text).not.toContain(canary);
    expect(text).not.toContain("secret-project");
  });
});

describe("updateSessionDatabase", () => {
  it("replaces the login and keeps the conversation", async () => {
    const { after, before } = await logins();
    const files = work(await createSessionDatabase(before, scratch), say);

    const bytes = await updateSessionDatabase(files, after, scratch);

    expect(rows(bytes, SAID)).toEqual(["what was said"]);
    expect(rows(bytes, "SELECT key, value FROM auth_kv")).toEqual(["kirocli:odic:token", "the new token"]);
    expect(rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it("replaces the profile, and keeps what the agent has in the same table", async () => {
    const { before } = await logins();
    const files = work(await createSessionDatabase(before, scratch), (database) =>
      database.exec("INSERT INTO state VALUES ('own', 1), ('auth.idc.more', 1)"),
    );
    const after = { ...before, state: [{ key: "auth.idc.region", value: '"eu-west-1"' }] };

    const bytes = await updateSessionDatabase(files, after, scratch);

    expect(rows(bytes, "SELECT key, value FROM state ORDER BY 1")).toEqual([
      "auth.idc.region",
      '"eu-west-1"',
      "own",
      1,
    ]);
  });

  it("plays back the log of an agent that was killed, in one file that needs no other", async () => {
    const { after, before } = await logins();
    const wal = (database: Database.Database): void => {
      database.pragma("journal_mode = WAL");
      say(database);
    };
    const files = work(await createSessionDatabase(before, scratch), wal, true);

    expect(files.get("-wal")?.length).toBeGreaterThan(0);
    const bytes = await updateSessionDatabase(files, after, scratch);

    expect(rows(bytes, SAID)).toEqual(["what was said"]);
    expect(rows(bytes, "SELECT value FROM auth_kv")).toEqual(["the new token"]);
  });

  it("rolls back what a killed agent had half written", async () => {
    const { after, before } = await logins();
    const half = (database: Database.Database): void => {
      database.pragma("cache_size = 1");
      say(database);
      database.exec("BEGIN; UPDATE conversations SET value = 'half'");
      database.exec(`INSERT INTO history (command) SELECT hex(randomblob(9000)) FROM (VALUES (1),(2),(3),(4))`);
    };
    const files = work(await createSessionDatabase(before, scratch), half, true);

    expect(files.get("-journal")?.length).toBeGreaterThan(0);
    const bytes = await updateSessionDatabase(files, after, scratch);

    expect(rows(bytes, SAID)).toEqual(["what was said"]);
    expect(rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it.each([
    ["a trigger", "CREATE TRIGGER t AFTER INSERT ON auth_kv BEGIN UPDATE state SET value = new.value; END"],
    ["a temporary-looking trigger on delete", "CREATE TRIGGER sqlite BEFORE DELETE ON state BEGIN SELECT 1; END"],
    ["a view", "CREATE VIEW v AS SELECT 1"],
    ["a view in place of a table", "DROP TABLE auth_kv; CREATE VIEW auth_kv AS SELECT 'a' AS key, 'b' AS value"],
    ["a virtual table in place of a table", "DROP TABLE auth_kv; CREATE VIRTUAL TABLE auth_kv USING fts5(key, value)"],
    ["no table of that name", "DROP TABLE auth_kv"],
    ["other columns", "ALTER TABLE auth_kv RENAME COLUMN value TO other"],
  ])("refuses a database in which the agent left %s", async (_, sql) => {
    const { after, before } = await logins();
    const files = work(await createSessionDatabase(before, scratch), (database) => database.exec(sql));

    expect(await outcomeOf(updateSessionDatabase(files, after, scratch))).toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringMatching(/Begin a new session\.$/),
    });
  });

  it.each([
    ["is no database", () => Buffer.from("no database at all ".repeat(500))],
    ["is cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    [
      "is scribbled over",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 0xa5)]),
    ],
    ["is empty", () => Buffer.alloc(0)],
  ])("refuses a file that %s", async (_, damage) => {
    const { after, before } = await logins();
    const files = new Map([["", damage(await createSessionDatabase(before, scratch))]]);

    expect(await outcomeOf(updateSessionDatabase(files, after, scratch))).toMatchObject({ code: "SESSION_UNUSABLE" });
  });

  // SQLite deletes the file that such a journal names as soon as it has played the journal back.
  it("deletes no file of the host that a planted journal names", async () => {
    const { after, before } = await logins();
    const victim = join(root, "victim");
    writeFileSync(victim, "precious");
    const database = await createSessionDatabase(before, scratch);
    const files = new Map([
      ["", database],
      ["-journal", plantJournal(database, victim)],
    ]);

    const outcome = await outcomeOf(updateSessionDatabase(files, after, scratch));

    expect(existsSync(victim)).toBe(true);
    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE" });
  });
});

/** The error, or "updated"; the bytes would fill the screen. */
function outcomeOf(update: Promise<Buffer>): Promise<unknown> {
  return update.then(
    () => "updated",
    (error: unknown) => error,
  );
}

const JOURNAL_MAGIC = Buffer.from("d9d505f920a163d7", "hex");

/** A hot journal of no pages that says it belongs to a transaction over several files, led by `leader`. */
function plantJournal(database: Buffer, leader: string): Buffer {
  const header = Buffer.alloc(512);
  JOURNAL_MAGIC.copy(header);
  header.writeUInt32BE(database.readUInt32BE(28), 16);
  header.writeUInt32BE(512, 20);
  header.writeUInt32BE(database.readUInt16BE(16), 24);
  const name = Buffer.from(leader);
  const lockPage = Buffer.alloc(4);
  lockPage.writeUInt32BE(2 ** 30 / database.readUInt16BE(16) + 1);
  const tail = Buffer.alloc(8);
  tail.writeUInt32BE(name.length, 0);
  tail.writeUInt32BE(
    name.reduce((sum, byte) => sum + byte, 0),
    4,
  );
  return Buffer.concat([header, lockPage, name, tail, JOURNAL_MAGIC]);
}
