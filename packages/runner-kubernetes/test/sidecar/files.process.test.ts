import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { FilledEntry } from "@budgie/core/copies";
import { fromRecords, toRecords } from "@budgie/sandbox/records";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";

async function toBytes(entries: readonly FilledEntry[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of toRecords(Readable.from(entries))) pieces.push(piece);
  return Buffer.concat(pieces);
}

const file = (path: string, text: string): FilledEntry => ({
  entry: { path, kind: "file", mode: 0o640, size: text.length },
  content: Buffer.from(text),
});

const FILL = { purpose: "file", act: "fill", volume: "work" } as const;
const PACK = { purpose: "file", act: "pack", volume: "work" } as const;
const WRITE = { purpose: "file", act: "write", volume: "home" } as const;
const read = (path: string, mostBytes = 100) => ({ purpose: "file", act: "read", path, mostBytes }) as const;

async function begin() {
  const running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  return { running, hold, budgie: await running.connectBudgie() };
}

it("a volume is filled from nothing, whatever was there, and packed again", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  const { tree } = running.roots;
  // Deeper than any path of the kernel's, closed, and without text for a name.
  execFileSync("sh", [
    "-c",
    'cd "$0"; i=0; while [ $i -lt 700 ]; do mkdir deeper && cd -P deeper || exit 1; i=$((i+1)); done; mkdir closed; chmod 0 closed',
    tree,
  ]);
  writeFileSync(Buffer.from([...Buffer.from(`${tree}/`), 0xff, 0xfe]), "");
  mkdirSync(join(tree, ".budgie-0/in"), { recursive: true });
  symlinkSync("/etc", join(tree, "link"));

  const records = await toBytes([{ entry: { path: "a", kind: "folder", mode: 0o755 } }, file("a/b", "content")]);
  expect((await budgie.ask(FILL, records)).last).toEqual({ ok: true });
  expect(readdirSync(tree)).toEqual(["a"]);
  const packed = await budgie.ask(PACK);
  expect(packed.last).toEqual({ ok: true });
  const paths: string[] = [];
  for await (const { entry } of fromRecords(Readable.from([packed.bytes]))) paths.push(entry.path);
  expect(paths).toEqual(["a", "a/b"]);
});

it("records that end early fail, and say so", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  const records = await toBytes([file("b", "content")]);

  expect((await budgie.ask(FILL, records.subarray(0, -33))).last).toMatchObject({
    error: { code: "RUNNER_UNAVAILABLE" },
  });
  expect((await budgie.ask(WRITE, records.subarray(0, -33))).last).toMatchObject({
    error: { code: "RUNNER_UNAVAILABLE" },
  });
  expect(readdirSync(running.roots.home)).toEqual([]);
});

it("files and links of a home are replaced in place, and nothing is written through them", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  const { home } = running.roots;
  const outside = join(running.roots.work, "outside");
  writeFileSync(outside, "outside");
  symlinkSync(outside, join(home, "link"));
  linkSync(outside, join(home, "twice"));
  execFileSync("mkfifo", [join(home, "pipe")]);
  mkdirSync(join(home, "closed"));
  chmodSync(join(home, "closed"), 0);

  const entries = ["link", "twice", "pipe", "closed/new/deep"].map((path) => file(path, "new"));
  const target: FilledEntry = { entry: { path: "made", kind: "link", target: "/target" } };
  const folder: FilledEntry = { entry: { path: "folder", kind: "folder", mode: 0o755 } };
  expect((await budgie.ask(WRITE, await toBytes([...entries, target, folder]))).last).toEqual({ ok: true });
  expect(readFileSync(outside, "utf8")).toBe("outside");
  for (const { entry } of entries) expect(readFileSync(join(home, entry.path), "utf8")).toBe("new");
  expect(statSync(join(home, "link")).mode & 0o777).toBe(0o640);
  expect(readlinkSync(join(home, "made"))).toBe("/target");
  expect(statSync(join(home, "folder")).mode & 0o777).toBe(0o755);
});

it.each([["a"], ["a/b"], ["a/b/c"]])("a link at %s of a home leads nowhere", async (place) => {
  const { budgie, running } = await begin();
  await using _running = running;
  const { home, work } = running.roots;
  mkdirSync(join(work, "outside/b/c"), { recursive: true });
  writeFileSync(join(work, "outside/b/c/file"), "outside");
  mkdirSync(join(home, "a/b/c"), { recursive: true });
  rmSync(join(home, place), { recursive: true });
  symlinkSync(join(work, place.replace("a", "outside")), join(home, place));

  const written = await budgie.ask(WRITE, await toBytes([file("a/b/c/file", "new")]));
  expect(written.last).toMatchObject({
    error: { code: "SESSION_UNUSABLE", message: expect.stringContaining(`"${place}"`) },
  });
  expect(readFileSync(join(work, "outside/b/c/file"), "utf8")).toBe("outside");
  expect(await budgie.ask(read("a/b/c/file"))).toEqual({ bytes: Buffer.alloc(0), last: { ok: true, kind: "beyond" } });
});

it("each path of a record is below the home, also beside one that is", async () => {
  const { budgie, running } = await begin();
  await using _running = running;

  for (const path of ["a/..", "a/", "a/.", "a/b\n"]) {
    const written = await budgie.ask(WRITE, await toBytes([file("a/b", "new"), file(path, "new")]));
    expect(written.last).toMatchObject({ error: { code: "INPUT_INVALID" } });
  }
  expect(readdirSync(join(running.roots.home, "a"))).toEqual(["b"]);
});

it("a folder in the place of a file is no file to replace", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  mkdirSync(join(running.roots.home, "settings/in"), { recursive: true });

  expect((await budgie.ask(WRITE, await toBytes([file("settings", "new")]))).last).toMatchObject({
    error: { code: "SESSION_UNUSABLE" },
  });
  expect(readdirSync(running.roots.home)).toEqual(["settings"]);
});

it("only the beginning of a regular file is read", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  const { home } = running.roots;
  writeFileSync(join(home, "file"), "0123456789");
  execFileSync("mkfifo", [join(home, "pipe")]);
  symlinkSync("file", join(home, "link"));

  expect(await budgie.ask(read("file", 4))).toEqual({ bytes: Buffer.from("0123"), last: { ok: true } });
  for (const [path, kind] of [
    ["pipe", "other"],
    ["link", "link"],
    [".none", null],
    ["none/below", null],
    ["file/below", "beyond"],
  ] as const)
    expect((await budgie.ask(read(path))).last).toEqual({ ok: true, kind });
  for (const path of ["../file", "/etc/passwd", "", "a//b"])
    expect((await budgie.ask(read(path))).last).toMatchObject({ error: { code: "INPUT_INVALID" } });
});

it("kinds of paths are told without following a link", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  mkdirSync(join(running.roots.tree, "folder"));
  writeFileSync(join(running.roots.tree, "file"), "");
  symlinkSync("folder", join(running.roots.tree, "link"));

  const paths = Buffer.from(JSON.stringify(["folder", "file", "link", "none", "link/below"]));
  const { bytes, last } = await budgie.ask({ purpose: "control", ask: "kinds" }, paths);
  expect(last).toEqual({ ok: true });
  expect(bytes.toString()).toBe(JSON.stringify(["folder", "file", "link", null, "other"]));
});

it("hidden paths come back where an agent has put links and closed folders in their way", async () => {
  const { budgie, hold, running } = await begin();
  await using _running = running;
  const { tree, work } = running.roots;
  mkdirSync(join(tree, "a/b/hidden"), { recursive: true });
  writeFileSync(join(tree, "a/b/hidden/one"), "original");
  chmodSync(join(tree, "a/b/hidden"), 0o555);
  mkdirSync(join(work, "outside/b"), { recursive: true });
  const hidden = Buffer.from(
    JSON.stringify([
      { path: "a/b/hidden", content: "empty folder" },
      { path: "none", content: { content: "" } },
    ]),
  );
  expect((await budgie.ask({ purpose: "control", ask: "hide" }, hidden)).last).toEqual({ ok: true });
  const turn = budgie.startTurn();
  await hold.hear("S");
  expect((await budgie.ask(PACK)).last).toMatchObject({ error: { code: "RUNNER_UNAVAILABLE" } });
  renameSync(join(tree, "a"), join(tree, "moved"));
  symlinkSync(join(work, "outside"), join(tree, "a"));
  hold.say("E", [0, 0, 0]);

  expect(await turn.last).toMatchObject({ exitCode: 0 });
  expect(readFileSync(join(tree, "a/b/hidden/one"), "utf8")).toBe("original");
  expect(statSync(join(tree, "a/b/hidden")).mode & 0o777).toBe(0o555);
  // Only root could remove it otherwise.
  chmodSync(join(tree, "a/b/hidden"), 0o755);
  expect(readdirSync(tree).toSorted()).toEqual(["a", "moved"]);
  expect(readdirSync(join(work, "outside/b"))).toEqual([]);
});

it("requests of any other shape are refused", async () => {
  const { budgie, running } = await begin();
  await using _running = running;
  const wrong = [
    { purpose: "control", ask: "constructor" },
    { purpose: "file", act: "fill", volume: "/" },
    { purpose: "file", act: "write", volume: "work" },
    { purpose: "turn", orderBytes: -1 },
    { purpose: "turn", orderBytes: 3_000_000 },
  ] as never[];
  for (const request of wrong)
    expect((await budgie.ask(request)).last).toMatchObject({ error: { code: "INPUT_INVALID" } });
});
