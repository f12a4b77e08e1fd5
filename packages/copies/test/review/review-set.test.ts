import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileCalls } from "../../src/host/file-calls.ts";
import { openHostFolder } from "../../src/host/host-folder.ts";
import { findDrift, type DriftBounds } from "../../src/review/find-drift.ts";
import { reviewSet } from "@budgie/copies/review";
import { applyIn, createWorld, writeFiles, type World } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n", "b/d.txt": "three\n", "e.txt": "five\n" };
const NONE = { count: 0, paths: [] };

function review({ base, sets, startedMs }: World, stored: Awaited<ReturnType<World["collect"]>>) {
  return reviewSet(stored, { sets, base: { manifest: base, startedMs } });
}

describe("a review of a set", () => {
  it("finds nothing in a directory that stayed as it was, also after a part was applied", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n", "AGENTS.md": "obey\n" });
    const stored = await world.collect();
    const calm = { conflicts: NONE, drift: { ...NONE, isWhole: true }, overlaps: [] };

    expect(await review(world, stored)).toEqual(calm);
    await applyIn(world, stored.id);
    expect(await review(world, await world.sets.find(stored.id))).toEqual(calm);
  });

  it("names conflicts, and what else of the directory changed", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n", "new\u202e.txt": "new\n" });
    const stored = await world.collect();
    // It has the same size, so that only its content tells.
    writeFiles(world.directory, { "a.txt": "mee\n", "new\u202e.txt": "mine\n" });
    rmSync(join(world.directory, "b/c.txt"));
    chmodSync(join(world.directory, "b/d.txt"), 0o755);
    // Touched, and the same.
    writeFiles(world.directory, { "e.txt": "five\n" });

    const { conflicts, drift } = await review(world, stored);

    expect(conflicts).toEqual({ count: 2, paths: ["a.txt", "new\\u{202e}.txt"] });
    expect(drift).toEqual({ count: 3, paths: ["a.txt", "b/c.txt", "b/d.txt"], isWhole: true });
  });

  it("names 20 paths and counts all", async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f/${at}.txt`, "one\n"]));
    const world = createWorld(files);
    writeFiles(world.copy, Object.fromEntries(Object.keys(files).map((path) => [path, "two\n"])));
    const stored = await world.collect();
    rmSync(join(world.directory, "f"), { recursive: true });

    const { conflicts, drift } = await review(world, stored);

    for (const { count, paths } of [conflicts, { ...drift, count: drift.count - 1 }]) {
      expect(count).toBe(30);
      expect(paths).toHaveLength(20);
    }
  });

  it("counts the paths that other waiting sets for the directory change too", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n", "b/c.txt": "TWO\n" });
    const other = await world.collect("s1");
    const discarded = await world.collect("s2");
    await world.sets.discard(discarded.id);
    writeFiles(world.copy, { "a.txt": "UNO\n", "b/c.txt": "two\n" });

    expect((await review(world, await world.collect())).overlaps).toEqual([{ changeId: other.id, count: 1 }]);
  });

  it("says that another directory is in its place", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const stored = await world.collect();
    renameSync(world.directory, `${world.directory}-moved`);
    mkdirSync(world.directory);
    writeFiles(world.directory, FILES);

    expect((await review(world, stored)).problem).toContain("is not the directory");
  });
});

describe("the drift of a directory", () => {
  async function drift({ base, directory, startedMs }: World, bounds: Partial<DriftBounds>) {
    const host = await openHostFolder(directory);
    try {
      return await findDrift(host, { manifest: base, startedMs }, { timeMs: 60_000, bytes: 1000, ...bounds });
    } finally {
      host.close();
    }
  }

  it("is looked for through no symlink", async () => {
    const world = createWorld(FILES);
    writeFiles(world.outside, { "c.txt": "two\n", "d.txt": "three\n" });
    rmSync(join(world.directory, "b"), { recursive: true });
    symlinkSync(world.outside, join(world.directory, "b"));

    expect((await drift(world, {})).paths).toEqual(["b", "b/c.txt", "b/d.txt"]);
  });

  it("is found by the calls that the directory chose, since a file server may never answer", async () => {
    const { base, directory } = createWorld(FILES);
    const host = await openHostFolder(directory);
    let looked = 0;
    const lstatAll: FileCalls["lstatAll"] = (folder, names) => {
      looked += names.length;
      return host.calls.lstatAll(folder, names);
    };
    const calls = { ...host.calls, lstatAll };
    await findDrift({ ...host, calls }, { manifest: base, startedMs: Infinity });
    host.close();

    expect(looked).toBe(base.entries.length);
  });

  it("is not whole beyond its bytes and its time", async () => {
    const world = createWorld(FILES);
    writeFileSync(join(world.directory, "a.txt"), "ONE\n");

    expect(await drift(world, {})).toEqual({ paths: ["a.txt"], isWhole: true });
    expect(await drift(world, { bytes: 0 })).toEqual({ paths: [], isWhole: false });
    expect(await drift(world, { timeMs: 0 })).toEqual({ paths: [], isWhole: false });
  });
});
