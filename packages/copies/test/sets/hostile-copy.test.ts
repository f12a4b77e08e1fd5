import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { FoundEntry } from "@budgie/core/copies";
import { applyIn, collectWith, createWorld, showTree, writeFiles } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n" };

function file(path: string, text: string, size = Buffer.byteLength(text)): FoundEntry {
  return { entry: { path, kind: "file", mode: 0o644, size }, content: Readable.from([Buffer.from(text)]) };
}

describe("a hostile copy", () => {
  it.each([
    ["../outside.txt", "does not stay"],
    ["/etc/passwd", "does not stay"],
    ["b/../../outside.txt", "does not stay"],
    ["b//x", "does not stay"],
    ["./x", "does not stay"],
    ["nul\0name", "NUL"],
    ["bad\uFFFDname", "not UTF-8"],
    ["lone\uD800", "not UTF-8"],
    ["a.txt", "twice"],
    ["a.txt/below", "no folder"],
    ["missing/x", "no folder"],
    [`b/${"x".repeat(256)}`, "too long"],
    [`${"b/".repeat(200)}x`, "deep"],
  ])("with the path %j gets it refused, and nothing of it written", async (path, why) => {
    const world = createWorld(FILES);

    const set = await collectWith(world, [file(path, "evil\n")]);

    expect(set.changes).toEqual([expect.objectContaining({ path, refused: expect.stringContaining(why) })]);
    const { agent, createdMs, directory, id, root, sessionId } = set;
    await world.sets.archive.save({
      id,
      sessionId,
      agent,
      directory,
      root,
      createdMs,
      bytes: 0,
      token: "t",
      content: set,
      digests: [],
    });
    await applyIn(world, id, { onConflict: "skip", withGuarded: true });
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "" });
  });

  it("has no change in a file as the fill made it, unless the base has another one there", async () => {
    const world = createWorld(FILES);
    const taken: unknown[] = [];

    for (const path of Object.keys(FILES)) rmSync(join(world.copy, path));

    const set = await collectWith(world, [file("b/c.txt", "three\n")], {
      beforeRest(take) {
        const filled = [
          ["a.txt", 4],
          ["b/c.txt", 6],
          ["a.txt", 4],
          ["a.txt/c.txt", 4],
        ] as const;
        for (const [path, size] of filled) taken.push(take({ path, kind: "file", mode: 0o644, size }));
      },
    });

    // The second has the size of another version, the third is there twice, and the base has no such file as the fourth.
    expect(taken).toEqual([true, false, false, false]);
    expect(set.changes).toEqual([
      expect.objectContaining({ path: "b/c.txt", after: expect.objectContaining({ size: 6 }) }),
    ]);
  });

  it("with a device, or a link to nowhere, gets them refused", async () => {
    const world = createWorld(FILES);

    const set = await collectWith(world, [
      { entry: { path: "device", kind: "other" } },
      { entry: { path: "empty", kind: "link", target: "" } },
    ]);

    expect(set.changes.map(({ path, refused }) => [path, refused])).toEqual([
      ["device", expect.stringContaining("neither file")],
      ["empty", expect.stringContaining("target")],
    ]);
  });

  it.each([
    ["/etc/passwd", true],
    ["../../etc", true],
    ["b/../../x", true],
    ["link/x", true],
    [".git/config", true],
    ["a.txt", false],
    ["b/c.txt", false],
  ])("with a link to %s has it guarded: %s", async (target, isGuarded) => {
    const world = createWorld(FILES);
    symlinkSync("b", join(world.copy, "link"));
    symlinkSync(target, join(world.copy, "new"));

    const set = await collectWith(world, []);

    expect(set.changes.find(({ path }) => path === "new")?.guard === "person").toBe(isGuarded);
  });

  it("has what is too large counted and named, and not kept", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "large.bin": "x".repeat(2000), "small.txt": "s\n", "z1.txt": "1\n", "z2.txt": "2\n" });

    const set = await collectWith(world, [], { fileBytes: 1000, changes: 3 });

    expect(set.changes.map(({ path, refused }) => [path, refused === undefined])).toEqual([
      ["large.bin", false],
      ["small.txt", true],
      ["z1.txt", true],
    ]);
    expect(set.omitted).toBe(1);
  });

  it("has changes whose names and targets are too long in sum counted, and not recorded", async () => {
    const world = createWorld(FILES);
    const link = { entry: { path: "link", kind: "link", target: "x".repeat(100) } } as const;

    const set = await collectWith(world, [link, file("y".repeat(90), "y\n"), file("z.txt", "z\n")], { nameBytes: 120 });

    expect([set.changes.map(({ path }) => path), set.omitted]).toEqual([["link", "z.txt"], 1]);
  });

  it("with more content than a file says it has stops at the bound", async () => {
    const world = createWorld(FILES);
    let pieces = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (; pieces < 10_000; pieces++) yield Buffer.alloc(1000);
    }
    const sparse = {
      entry: { path: "sparse", kind: "file", mode: 0o644, size: 10 },
      content: Readable.from(endless()),
    } as const;

    const set = await collectWith(world, [sparse], { fileBytes: 100_000 });

    expect(set.changes).toEqual([
      expect.objectContaining({ path: "sparse", refused: expect.stringContaining("too large") }),
    ]);
    expect(pieces).toBeLessThan(1000);
  });

  it("with too many entries is not collected", async () => {
    const world = createWorld(FILES);

    const collected = [{ entries: 2 }, { pathBytes: 10 }].map((bounds) => collectWith(world, [], bounds));

    for (const each of collected) await expect(each).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  });

  it("whose package.json changes its scripts is guarded, and one that does not is not", async () => {
    const text = (scripts: string, version: string): string => JSON.stringify({ version, scripts: { test: scripts } });
    const world = createWorld({ "p/package.json": text("x", "1"), "q/package.json": text("x", "1") });
    writeFiles(world.copy, { "p/package.json": text("evil", "1"), "q/package.json": text("x", "2") });

    const { set } = await world.collect();

    expect(set.changes.map(({ guard }) => guard)).toEqual(["person", undefined]);
  });
});
