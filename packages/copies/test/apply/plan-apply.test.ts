import { createHash } from "node:crypto";
import { chmodSync, existsSync, linkSync, rmSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { applyIn, createWorld, readTree, SESSION, showTree, writeFiles } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n", "b/d.txt": "three\n" };

describe("an apply", () => {
  it.each([
    ["has a hard link", (path: string) => linkSync(path, `${path}.twin`), "hard links"],
    ["is not writable", (path: string) => chmodSync(path, 0o444), "not writable"],
    ["is a link now", (path: string) => (rmSync(path), symlinkSync("b/c.txt", path)), "changed in the directory"],
    ["is gone", (path: string) => rmSync(path), "changed in the directory"],
  ])("takes a file that %s for a conflict", async (_, spoil, why) => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect();
    spoil(join(world.directory, "a.txt"));
    const before = showTree(world.directory);

    expect((await applyIn(world, id)).conflicts).toEqual([{ path: "a.txt", why: expect.stringContaining(why) }]);
    expect(showTree(world.directory)).toEqual(before);
  });

  it("never writes through a folder that became a link", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "b/c.txt": "TWO\n", "b/new.txt": "new\n" });
    const { id } = await world.collect();
    rmSync(join(world.directory, "b"), { recursive: true });
    symlinkSync(world.outside, join(world.directory, "b"));

    const { conflicts } = await applyIn(world, id);

    expect(conflicts.map(({ path }) => path)).toEqual(["b/c.txt", "b/new.txt"]);
    expect(showTree(world.outside)).toEqual({ "secret.txt": "of the user\n" });
  });

  it("removes no file that is too large to come back by an undo", async () => {
    const world = createWorld({ "large.bin": "" });
    truncateSync(join(world.directory, "large.bin"), 65 * 1024 * 1024);
    const digest = createHash("sha256")
      .update(Buffer.alloc(65 * 1024 * 1024))
      .digest("hex");
    const base = { path: "large.bin", kind: "file", mode: 0o644, size: 65 * 1024 * 1024, digest } as const;
    rmSync(join(world.copy, "large.bin"));
    const { copy, directory, sets } = world;
    const asked = {
      base: { entries: [base] },
      read: () => readTree(copy),
      sessionId: SESSION,
      agent: "worker",
      directory,
    };
    const id = (await sets.collect(asked))?.id ?? "";

    const { conflicts } = await applyIn(world, id);

    expect(conflicts).toEqual([{ path: "large.bin", why: expect.stringContaining("too large") }]);
    expect(existsSync(join(world.directory, "large.bin"))).toBe(true);
  });
});
