import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHostHome } from "@budgie/testkit";
import { loadKiroLogin, type KiroLogin } from "../src/kiro-login.ts";
import { createSessionDatabase, renewSessionDatabase, type DatabaseFiles } from "../src/session-database.ts";
import { HOSTILE_SQL, makeEndless, spoil } from "./hostile-database.ts";

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

describe("renewSessionDatabase", () => {
  it("replaces the login and keeps the conversation", async () => {
    const { after, before } = await logins();
    const files = work(await createSessionDatabase(before, scratch), say);

    const bytes = await renew(files, after);

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

    const bytes = await renew(files, after);

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
    const bytes = await renew(files, after);

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
    const bytes = await renew(files, after);

    expect(rows(bytes, SAID)).toEqual(["what was said"]);
    expect(rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it("brings over what a newer Kiro than the host's made of it, with its own list of migrations", async () => {
    const { after, before } = await logins();
    const files = work(await createSessionDatabase(before, scratch), (database) => {
      database.exec(`ALTER TABLE conversations ADD COLUMN model TEXT; INSERT INTO migrations VALUES (99, 42, 0);
        CREATE TABLE "more" (id INTEGER PRIMARY KEY, "key" TEXT NOT NULL UNIQUE, UNIQUE (id, key));
        CREATE UNIQUE INDEX idx_more ON more (key DESC, id)`);
      database.exec("INSERT INTO conversations VALUES ('/workspace', 'what was said', 'm'); INSERT INTO more VALUES (7, 'k')");
    });

    const bytes = await renew(files, after);

    expect(rows(bytes, "SELECT value, model, max(version), id, more.key FROM conversations, migrations, more")).toEqual([
      "what was said",
      "m",
      42,
      7,
      "k",
    ]);
    expect(rows(bytes, "SELECT name FROM pragma_index_list('more') ORDER BY 1")).toContain("idx_more");
    expect(rows(bytes, "PRAGMA integrity_check")).toEqual(["ok"]);
  });

  it("brings over what is the host's to the letter, whatever it is", async () => {
    const { before } = await logins();
    const own = { ...before, schema: [...before.schema, "CREATE TABLE own (a TEXT DEFAULT (1 + 1) CHECK (a <> 3))"] };
    const files = work(await createSessionDatabase(own, scratch), (database) => database.exec("INSERT INTO own DEFAULT VALUES"));

    expect(rows(await renew(files, own), "SELECT a FROM own")).toEqual(["2"]);
    expect(await outcomeOf(renew(files, before))).toMatchObject({ code: "SESSION_UNUSABLE" });
  });

  it("leaves the login out where there is none to put in", async () => {
    const { before } = await logins();
    const files = work(await createSessionDatabase(before, scratch), say);

    const bytes = await renew(files, undefined);

    expect(rows(bytes, SAID)).toEqual(["what was said"]);
    expect(rows(bytes, "SELECT (SELECT count(*) FROM auth_kv) + (SELECT count(*) FROM state)")).toEqual([0]);
  });

  it.each([
    ...Object.entries(HOSTILE_SQL),
    ["no table of that name", "DROP TABLE auth_kv"],
    ["other columns", "ALTER TABLE auth_kv RENAME COLUMN value TO other"],
  ])("refuses a database in which the agent left %s", async (_, sql) => {
    const { after, before } = await logins();
    const files = new Map([["", spoil(await createSessionDatabase(before, scratch), sql)]]);

    expect(await outcomeOf(renew(files, after))).toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringMatching(/Begin a new session\.$/),
    });
  });

  it("ends with one that has no end, and nobody else waits meanwhile", async () => {
    const { after, before } = await logins();
    const files = new Map([["", makeEndless(await createSessionDatabase(before, scratch), "state")]]);
    let turns = 0;
    const timer = setInterval(() => turns++, 20);

    const outcome = await outcomeOf(renew(files, after));
    clearInterval(timer);

    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE", message: expect.stringContaining("within 10 s") });
    expect(turns).toBeGreaterThan(100);
  });

  it("stops at once when it is told to", async () => {
    const { after, before } = await logins();
    const files = new Map([["", makeEndless(await createSessionDatabase(before, scratch), "state")]]);
    const stopping = new AbortController();
    const outcome = outcomeOf(renew(files, after, stopping.signal));
    await vi.waitFor(() => expect(readdirSync(scratch).flatMap((name) => readdirSync(join(scratch, name)))).toContain("copy.sqlite3"), 10_000);

    const began = performance.now();
    stopping.abort(new Error("stopped"));

    expect(await outcome).toMatchObject({ message: "stopped" });
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it("does not fill the disk", async () => {
    const { after, before } = await logins();
    const long = "INSERT INTO conversations VALUES (NULL, hex(zeroblob(1000000)))";
    const spoilt = makeEndless(spoil(await createSessionDatabase(before, scratch), long), "conversations");
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, sizeOf(scratch))), 20);

    const outcome = await outcomeOf(renew(new Map([["", spoilt]]), after));
    clearInterval(timer);

    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(300 * 2 ** 20);
  });

  it("makes no file larger than it may be, whatever page a log says it has", async () => {
    const { after, before } = await logins();
    const files = work(
      await createSessionDatabase(before, scratch),
      (database) => {
        database.pragma("journal_mode = WAL");
        say(database);
      },
      true,
    );
    const wal = withPage(files.get("-wal") ?? Buffer.alloc(0), 2 ** 30);

    const outcome = await outcomeOf(renew(new Map([...files, ["-wal", wal]]), after));

    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE" });
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

    expect(await outcomeOf(renew(files, after))).toMatchObject({ code: "SESSION_UNUSABLE" });
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

    const outcome = await outcomeOf(renew(files, after));

    expect(existsSync(victim)).toBe(true);
    expect(outcome).toMatchObject({ code: "SESSION_UNUSABLE" });
  });
});

/** Puts a login into a database that an agent worked on. */
async function renew(files: DatabaseFiles, login: KiroLogin | undefined, signal = new AbortController().signal) {
  const host = login && (await createSessionDatabase(login, scratch));
  return renewSessionDatabase({ files, host, scratchDir: scratch, signal });
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true }).map((name) => statSync(join(folder, String(name)), { throwIfNoEntry: false }));
  return files.reduce((sum, facts) => sum + (facts?.isFile() === true ? facts.size : 0), 0);
}

/** The error, or "updated"; the bytes would fill the screen. */
function outcomeOf(update: Promise<Buffer>): Promise<unknown> {
  return update.then(
    () => "updated",
    (error: unknown) => error,
  );
}

/** A log whose last page is another one, with all sums right. */
function withPage(log: Buffer, page: number): Buffer {
  const [size, made] = [log.readUInt32BE(8), Buffer.from(log)];
  const isBig = (log.readUInt32BE(0) & 1) === 1;
  let sums: readonly [number, number] = [log.readUInt32BE(24), log.readUInt32BE(28)];
  for (let at = 32; at < log.length; at += 24 + size) {
    if (at + 24 + size >= log.length) [0, 4].forEach((offset) => made.writeUInt32BE(page, at + offset));
    sums = addUp(addUp(sums, made.subarray(at, at + 8), isBig), made.subarray(at + 24, at + 24 + size), isBig);
    sums.forEach((sum, index) => made.writeUInt32BE(sum, at + 16 + 4 * index));
  }
  return made;
}

function addUp([first, second]: readonly [number, number], bytes: Buffer, isBig: boolean): readonly [number, number] {
  const read = (at: number): number => (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + read(at) + second) >>> 0;
    second = (second + read(at + 4) + first) >>> 0;
  }
  return [first, second];
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
