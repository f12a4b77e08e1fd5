import fs, { closeSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createObjectStore } from "@budgie/copies/objects";
import { chooseFileCalls, POOLED } from "../../src/host/file-calls.ts";

/** Creates a folder, and returns a function that names a file in it. */
function createFolder(): (name: string) => Buffer {
  const folder = mkdtempSync(join(tmpdir(), "budgie-calls-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return (name) => Buffer.from(join(folder, name));
}

describe.each([
  ["direct", () => chooseFileCalls(tmpdir())],
  ["in the thread pool", async () => POOLED],
])("file calls %s", (_, choose) => {
  it("write, read, link, rename and remove a file, and never over another one by a link", async () => {
    const at = createFolder();
    const calls = await choose();
    const into = Buffer.alloc(8);

    const fd = await calls.open(at("a"), "wx+", 0o600);
    await calls.write(fd, Buffer.from("text"));
    await calls.fchmod(fd, 0o640);
    await calls.fsync(fd);
    const read = [await calls.read(fd, into, 1), await calls.read(fd, into, 4)];
    const { size } = await calls.fstat(fd);
    closeSync(fd);
    await calls.link(at("a"), at("b"));
    await calls.rename(at("a"), at("c"));

    expect([...read, size, (await calls.lstat(at("b"))).nlink]).toEqual([3, 0, 4n, 2n]);
    expect(statSync(at("c")).mode & 0o777).toBe(0o640);
    await expect(calls.link(at("c"), at("b"))).rejects.toMatchObject({ code: "EEXIST" });
    await calls.unlink(at("c"));
    await expect(calls.lstat(at("c"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(readFileSync(at("b"), "utf8")).toBe("text");
  });
});

it("direct file calls in a row let the rest of the process work", async () => {
  const at = createFolder();
  const calls = await chooseFileCalls(tmpdir());
  let hasWorked = false;
  setTimeout(() => (hasWorked = true), 0);

  for (let left = 1_000_000; left > 0 && !hasWorked; left--) await calls.lstat(at("."));

  expect(hasWorked).toBe(true);
});

it("direct file calls write and read a large object in pieces", async () => {
  const at = createFolder();
  const content = Buffer.alloc(1024 * 1024 + 1, "text");
  const objects = createObjectStore({ stateDir: at(".").toString() });
  const staged = await objects.stage([content]);
  await staged?.keep();
  const { readSync, writeFileSync } = fs;
  onTestFinished(() => void Object.assign(fs, { readSync, writeFileSync }));
  const pieces = { read: [] as number[], written: [] as number[] };
  Object.assign(fs, {
    readSync(fd: number, into: Buffer, ...rest: [number, number, number]) {
      pieces.read.push(into.length);
      return readSync(fd, into, ...rest);
    },
    writeFileSync(fd: number, piece: Buffer) {
      pieces.written.push(piece.length);
      writeFileSync(fd, piece);
    },
  });

  const found = await objects.read(staged?.digest ?? "");
  const calls = await chooseFileCalls(tmpdir());
  const fd = await calls.open(at("a"), "wx");
  await calls.write(fd, content);
  closeSync(fd);

  const sizes = [...Array.from({ length: 4 }, () => 256 * 1024), 1];
  expect(pieces).toEqual({ read: sizes, written: sizes });
  expect([found?.equals(content), readFileSync(at("a")).equals(content)]).toEqual([true, true]);
});
