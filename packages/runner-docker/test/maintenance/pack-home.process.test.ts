import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, type Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import Database from "better-sqlite3";
import { extract, pack, type Header } from "tar-stream";
import { expect, it, onTestFinished } from "vitest";
import { packHome, type HomePacking } from "../../src/maintenance/pack-home.ts";
import { makeEndless } from "../../../sandbox/test/login/hostile-database.ts";

const FOLDER = "home/agent/.local/share/kiro-cli";
const FILE = `${FOLDER}/data.sqlite3`;
const SECRET = "canary-secret-of-a-login";

const SCHEMA = `
  CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT);
  CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);
  INSERT INTO auth_kv VALUES ('a:token', 'old ${SECRET}');
  INSERT INTO conversations VALUES ('/workspace', 'token-finch')`;

const STATE = `CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB); INSERT INTO state VALUES ('auth.idc.region', 1)`;

type File = Partial<Header> & { readonly name: string; readonly content?: Buffer | string };

it("copies files, symlinks and devices of any size unchanged", async () => {
  const large = Buffer.alloc(3_000_000, "large ");
  const files: readonly File[] = [
    { name: "home/agent", type: "directory", mode: 0o700 },
    { name: "home/agent/note", content: "noted", mode: 0o640, uid: 1234, gid: 4321 },
    { name: "home/agent/large", content: large },
    { name: "home/agent/link", type: "symlink", linkname: "/etc/passwd" },
    { name: "home/agent/hard", type: "link", linkname: "home/agent/note" },
    { name: "home/agent/pipe", type: "fifo" },
    { name: "home/agent/null", type: "character-device", devmajor: 1, devminor: 3 },
  ];

  const { entries, leftOut } = await exported(files);

  const facts = entries.map(({ header: { linkname, name, type } }) => ({ name, type, linkname }));
  expect(facts).toEqual(
    files.map(({ linkname = null, name, type = "file" }) => ({ name, type, linkname: linkname ?? null })),
  );
  expect(entries[1]).toMatchObject({ header: { mode: 0o640, uid: 1234, gid: 4321 }, content: Buffer.from("noted") });
  expect(entries[2]?.content.equals(large)).toBe(true);
  expect(leftOut).toEqual([]);
});

it("leaves out the logins of other programs, and hard links to them", async () => {
  const login = "home/agent/.codex/auth.json";
  const alias = { name: "home/agent/alias", type: "link", linkname: login } as const;
  const files = [{ name: login, content: SECRET }, { name: "home/agent/note", content: "noted" }, alias];

  const { entries, leftOut } = await exported(files, { logins: [".codex/auth.json"] });

  expect(entries.map(({ header }) => header.name)).toEqual(["home/agent/note"]);
  expect(leftOut).toEqual([login, alias.name].map((name) => `"${name}": it may hold a login.`));
});

it("removes the login from Kiro's database and its free pages, and keeps the conversation", async () => {
  const content = makeDatabase(`
    INSERT INTO auth_kv VALUES ('earlier', '${SECRET}' || hex(zeroblob(9000)));
    DELETE FROM auth_kv WHERE key = 'earlier'`);

  const { bytes, entries, leftOut } = await exported([{ name: FILE, content, mode: 0o600 }]);

  const database = open(entries[0]?.content ?? Buffer.alloc(0));
  expect(content.toString("latin1").split(SECRET)).toHaveLength(3);
  expect(open(content).prepare("SELECT count(*) FROM auth_kv").pluck().get()).toBe(1);
  expect(bytes.toString("latin1")).not.toContain(SECRET);
  expect(database.prepare("SELECT value FROM conversations").pluck().all()).toEqual(["token-finch"]);
  expect(leftOut).toEqual([expect.stringContaining("The login")]);
});

it("replays a log before that, and omits it", async () => {
  const [main, wal] = makeLoggedDatabase();

  const { bytes, entries } = await exported([
    { name: FILE, content: main },
    { name: `${FILE}-wal`, content: wal },
    { name: `${FILE}-shm`, content: "index" },
  ]);

  expect(entries.map(({ header }) => header.name)).toEqual([FILE]);
  expect(bytes.toString("latin1")).not.toContain(SECRET);
  expect(
    open(entries[0]?.content ?? Buffer.alloc(0))
      .prepare("SELECT value FROM conversations")
      .pluck()
      .all(),
  ).toEqual(["token-wren"]);
});

it.each<readonly [string, readonly File[]]>([
  ["that is damaged", [{ name: FILE, content: `SQLite format 3\0${SECRET}` }]],
  [
    "with a trigger in it",
    [{ name: FILE, content: makeDatabase("CREATE TRIGGER t AFTER DELETE ON auth_kv BEGIN SELECT 1; END") }],
  ],
  ["that has no end", [{ name: FILE, content: makeEndless(makeDatabase(STATE), "state") }]],
  ["that was moved", [{ name: "home/agent/elsewhere/data.sqlite3", content: makeDatabase() }]],
  ["that has another name too", [{ name: "home/agent/other", type: "link", linkname: FILE }]],
  ["that lies below one that is a folder", [{ name: `${FILE}/data.sqlite3`, content: makeDatabase() }]],
])("omits a database %s, and reports it", async (_what, files) => {
  const { bytes, entries, leftOut } = await exported([...files, { name: "home/agent/note", content: "noted" }]);

  expect(entries.map(({ header }) => header.name)).toEqual(["home/agent/note"]);
  expect(bytes.toString("latin1")).not.toContain(SECRET);
  expect(leftOut).toEqual([expect.stringContaining(files[0]?.name ?? "?")]);
});

it("keeps no database in memory, of any number and size", async () => {
  const large = Buffer.alloc(30_000_000, SECRET);
  const names = ["", "/a", "-wal", "/b", "-shm", "/c"].map((ending) => `${FILE}${ending}`);
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers)), 5);
  const before = process.memoryUsage().arrayBuffers;

  const archive = toLazyArchive(
    names.map((name) => ({ name: name.replace(/\/(.)$/, "/$1/data.sqlite3"), content: large })),
  );
  const leftOut = await packed(archive, new PassThrough().resume());
  clearInterval(timer);

  expect(leftOut).toHaveLength(4);
  expect(most - before).toBeLessThan(large.length);
});

it("ends at the first entry that does not fit", async () => {
  const holes = Array.from({ length: 150 }, (_, index) => ({ name: `home/agent/hole-${index}`, content: "12345" }));
  const database = { name: FILE, content: makeDatabase() };

  const { entries, leftOut } = await exported([database, ...holes], { maxBytes: 103 });

  expect(entries.map(({ header }) => header.name)).toEqual(holes.slice(0, 20).map(({ name }) => name));
  expect(leftOut).toEqual([expect.stringMatching(/^"home\/agent\/hole-20", and all that comes after it: /)]);
});

it("names only the first of many omitted files", async () => {
  const files = Array.from({ length: 150 }, (_, index) => ({ name: `home/agent/${index}/data.sqlite3`, content: "" }));

  const { leftOut } = await exported(files);

  expect(leftOut).toHaveLength(101);
  expect(leftOut.at(-1)).toBe("50 more.");
});

it("aborts an endless copy", async () => {
  const stopping = new AbortController();
  const archive = toArchive([{ name: FILE, content: makeEndless(makeDatabase(STATE), "state") }]);
  const outcome = packed(archive, new PassThrough().resume(), { signal: stopping.signal }).catch(
    (error: Error) => error.name,
  );
  setTimeout(() => stopping.abort(), 500);

  expect(await outcome).toBe("AbortError");
});

it("fails, and does not hang, when the archive or its reader ends early", async () => {
  const whole = await buffer(toArchive([{ name: "home/agent/large", content: Buffer.alloc(1_000_000) }]));
  const cut = new PassThrough();
  cut.write(whole.subarray(0, 500_000));
  setTimeout(() => cut.destroy(new Error("engine lost")), 50);
  const gone = new PassThrough();

  await expect(packed(cut, new PassThrough().resume())).rejects.toThrow();
  setTimeout(() => gone.destroy(new Error("no room")), 50);
  await expect(
    packed(toArchive([{ name: "home/agent/large", content: Buffer.alloc(9_000_000) }]), gone),
  ).rejects.toThrow();
});

async function exported(files: readonly File[], more: Partial<HomePacking> = {}) {
  const to = new PassThrough();
  const [leftOut, bytes] = await Promise.all([packed(toArchive(files), to, more), buffer(to)]);
  const entries: { readonly header: Header; readonly content: Buffer }[] = [];
  for await (const entry of Readable.from([bytes]).pipe(extract()))
    entries.push({ header: entry.header, content: await buffer(entry as unknown as Readable) });
  return { entries, bytes, leftOut };
}

async function packed(archive: Readable, to: PassThrough, more: Partial<HomePacking> = {}): Promise<readonly string[]> {
  const scratchDir = makeFolder();
  const leftOut = await packHome({ archive, to, scratchDir, signal: new AbortController().signal, ...more });
  expect(readdirSync(scratchDir)).toEqual([]);
  return leftOut;
}

/** Creates an archive whose files are generated when they are read. */
function toLazyArchive(files: readonly { readonly name: string; readonly content: Buffer }[]): Readable {
  const archive = pack();
  const add = ([file, ...rest]: typeof files): void => {
    if (file === undefined) return archive.finalize();
    const entry = archive.entry({ name: file.name, size: file.content.length }, () => add(rest));
    Readable.from(toPieces(file.content)).pipe(entry as unknown as Writable);
  };
  add(files);
  return archive as unknown as Readable;
}

function* toPieces(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

function toArchive(files: readonly File[]): Readable {
  const archive = pack();
  for (const { content, ...header } of files) archive.entry(header, content ?? "");
  archive.finalize();
  // A stream of Node, like the engine's.
  return Readable.from(archive);
}

function makeDatabase(change = ""): Buffer {
  const database = new Database(":memory:");
  database.exec(`${SCHEMA}; ${change}`);
  const content = database.serialize();
  database.close();
  return content;
}

/** Creates a database whose last change is only in its log. */
function makeLoggedDatabase(): readonly [Buffer, Buffer] {
  const path = join(makeFolder(), "data.sqlite3");
  const database = new Database(path);
  database.exec(`PRAGMA journal_mode = WAL; ${SCHEMA}; UPDATE conversations SET value = 'token-wren'`);
  const files = [readFileSync(path), readFileSync(`${path}-wal`)] as const;
  database.close();
  return files;
}

function open(content: Buffer): Database.Database {
  const path = join(makeFolder(), "exported.sqlite3");
  writeFileSync(path, content);
  const database = new Database(path);
  onTestFinished(() => void database.close());
  return database;
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-pack-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
