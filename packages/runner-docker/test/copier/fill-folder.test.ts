import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import type { FilledEntry } from "@budgie/core/copies";
import { fillFolder } from "../../src/copier/fill-folder.ts";

const USER = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const never = new AbortController().signal;

it("A volume's folder is filled with contents, links, rights and whole seconds, also below a folder that is read-only", async () => {
  const folder = createFolder();

  await fill(folder, [
    { entry: { path: "closed", kind: "folder", mode: 0o555 }, mtimeMs: 1_000_500 },
    {
      entry: { path: "closed/run.sh", kind: "file", mode: 0o755, size: 2 },
      content: Buffer.from("hi"),
      mtimeMs: 2_000_900,
    },
    { entry: { path: "link", kind: "link", target: "/nonexistent" } },
    {
      entry: { path: "large", kind: "file", mode: 0o400, size: 4 },
      content: Readable.from([Buffer.from("ab"), Buffer.from("cd")]),
    },
    { entry: { path: "empty", kind: "file", mode: 0o644, size: 0 } },
  ]);

  const facts = (path: string) => {
    const { mode, mtimeMs } = lstatSync(join(folder, path));
    return [mode & 0o777, mtimeMs];
  };
  expect(facts("closed")).toEqual([0o555, 1_000_000]);
  expect(facts("closed/run.sh")).toEqual([0o755, 2_000_000]);
  expect(lstatSync(folder).mode & 0o777).toBe(0o755);
  expect(readFileSync(join(folder, "closed/run.sh"), "utf8")).toBe("hi");
  expect(readFileSync(join(folder, "large"), "utf8")).toBe("abcd");
  expect(readFileSync(join(folder, "empty"), "utf8")).toBe("");
  expect(readlinkSync(join(folder, "link"))).toBe("/nonexistent");
});

it("A fill of a folder follows no symlink, replaces nothing, and ends with its signal or its entries' error", async () => {
  const folder = createFolder();
  const outside = join(folder, "../outside");
  writeFileSync(outside, "the user's");
  symlinkSync(outside, join(folder, "planted"));
  const file: FilledEntry = {
    entry: { path: "planted", kind: "file", mode: 0o644, size: 1 },
    content: Buffer.from("x"),
  };

  await expect(fill(folder, [file])).rejects.toMatchObject({ code: "EEXIST" });
  expect(readFileSync(outside, "utf8")).toBe("the user's");
  await expect(fill(folder, [file], AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  async function* failing(): AsyncGenerator<FilledEntry> {
    yield { entry: { path: "a", kind: "folder", mode: 0o755 } };
    throw new Error("torn");
  }
  await expect(fill(folder, failing())).rejects.toThrow("torn");
});

it("A fill of a folder writes nothing through a symlink that it made itself", async () => {
  const folder = createFolder();
  mkdirSync(join(folder, "../outside/in"), { recursive: true });
  const file = (path: string): FilledEntry => ({
    entry: { path, kind: "file", mode: 0o644, size: 1 },
    content: Buffer.from("x"),
  });
  const link = (path: string): FilledEntry => ({ entry: { path, kind: "link", target: "../outside" } });

  await expect(fill(folder, [link("first"), file("first-file"), file("first/file")])).rejects.toThrow(
    "below a symlink",
  );
  await expect(fill(folder, [link("second"), file("second/in/file")])).rejects.toThrow("below a symlink");
  expect(readdirSync(join(folder, "../outside"))).toEqual(["in"]);
  expect(readdirSync(join(folder, "../outside/in"))).toEqual([]);
});

it("A large content is written in pieces, between which others work", async () => {
  const folder = createFolder();
  const path = join(folder, "large");
  const content = Buffer.alloc(2 * 1024 ** 2, "text");
  const sizes = new Set<number | undefined>();
  const look = (): void => {
    sizes.add(statSync(path, { throwIfNoEntry: false })?.size);
    next = setImmediate(look);
  };
  let next = setImmediate(look);
  onTestFinished(() => clearImmediate(next));

  await fill(folder, [{ entry: { path: "large", kind: "file", mode: 0o644, size: content.length }, content }]);

  expect([...sizes]).toContain(content.length / 2);
  expect(readFileSync(path).equals(content)).toBe(true);
});

function createFolder(): string {
  const top = mkdtempSync(join(tmpdir(), "budgie-fill-"));
  onTestFinished(() => {
    // An ordinary user removes nothing from a folder that is read-only.
    if (existsSync(join(top, "volume/closed"))) chmodSync(join(top, "volume/closed"), 0o755);
    rmSync(top, { recursive: true });
  });
  mkdirSync(join(top, "volume"));
  return join(top, "volume");
}

async function fill(path: string, entries: Iterable<FilledEntry> | AsyncIterable<FilledEntry>, signal = never) {
  await using folder = await open(path);
  await fillFolder(
    folder,
    (async function* () {
      yield* entries;
    })(),
    { user: USER, signal },
  );
}
