import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { listFolder, parseListing } from "../../src/proc/list-folder.ts";
import { measureFolder } from "../../src/proc/measure-folder.ts";
import { readFewEntries } from "../../src/proc/read-few-entries.ts";

it("lists few entries as find does", async () => {
  const path = createTree();
  await using folder = await open(path);
  const list = async (readFew: typeof readFewEntries) => {
    const listing = await listFolder(folder, { readFew });
    // The kinds that the host does not take need not be told apart.
    const entries = [...parseListing(listing ?? Buffer.alloc(0))].map((one) => ({ ...one, type: toKnown(one.type) }));
    return entries.toSorted((a, b) => (a.bytes < b.bytes ? -1 : 1));
  };

  const few = await list(readFewEntries);

  expect(few).toEqual(await list(() => undefined));
  expect(few.map(({ path: name }) => name)).toContain("folder/ü\n");
});

it("measures few entries as du does, each inode once", async () => {
  const path = createTree();
  await using folder = await open(path);
  const without = "folder";
  const signal = AbortSignal.timeout(60_000);
  const du = (...args: readonly string[]) => Number.parseInt(execFileSync("du", ["-skx", ...args]).toString()) * 1024;

  expect(await measureFolder({ folder }, signal)).toEqual({ bytes: du(path), isPartial: false });
  const some = await measureFolder({ folder, without }, signal);

  expect(some).toEqual({ bytes: du("--exclude=folder", path), isPartial: false });
});

it("counts nothing of another file system", async () => {
  await using folder = await open("/");
  const { dev } = await folder.stat({ bigint: true });
  const entries = readFewEntries(folder, ({ bytes, facts }) => bytes === "dev" && facts.dev === dev);

  expect(entries?.some(({ bytes }) => bytes.startsWith("dev/"))).toBe(false);
});

it.each([
  ["files", (path: string) => Array.from({ length: 1001 }, (_, at) => writeFileSync(join(path, `${at}`), ""))],
  ["folders", (path: string) => Array.from({ length: 33 }, (_, at) => mkdirSync(join(path, `${at}`)))],
])("leaves many %s to a program, which counts them too", async (_, fill) => {
  const path = createFolder();
  const count = fill(path).length;
  await using folder = await open(path);

  expect(readFewEntries(folder)).toBeUndefined();

  const listing = await listFolder(folder);
  expect([...parseListing(listing ?? Buffer.alloc(0))]).toHaveLength(count + 1);
});

it("reads nothing in a folder that it is told to leave, nor behind a symlink", async () => {
  const path = createTree();
  await using folder = await open(path);

  const found = readFewEntries(folder, ({ bytes }) => bytes !== "folder") ?? [];

  expect(found.map(({ bytes, target }) => [bytes, target])).toEqual(expect.arrayContaining([["outside", tmpdir()]]));
  expect(found.filter(({ bytes }) => bytes.includes("/"))).toEqual([]);
});

const toKnown = (type: string): string => ("fdl".includes(type) ? type : "other");

/** Creates files of some kinds, names and rights. */
function createTree(): string {
  const path = createFolder();
  mkdirSync(join(path, "folder"), { mode: 0o1750 });
  writeFileSync(join(path, "folder", "ü\n"), "x".repeat(100_000), { mode: 0o640 });
  writeFileSync(Buffer.concat([Buffer.from(`${path}/folder/`), Buffer.from([0xff, 0x41])]), "y");
  linkSync(join(path, "folder", "ü\n"), join(path, "again"));
  symlinkSync(tmpdir(), join(path, "outside"));
  execFileSync("mkfifo", [join(path, "pipe")]);
  return path;
}

function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "budgie-few-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}
