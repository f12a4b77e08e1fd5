import { chmodSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { FoundEntry } from "@budgie/core/copies";
import { collectChangeSet } from "../../src/sets/collect-change-set.ts";
import { createWorld, readTree, SESSION, writeFiles, type World } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n" };

describe("a collected set", () => {
  it("names added, changed and removed entries, sorted, and keeps both contents", async () => {
    const world = createWorld({ ...FILES, "gone.txt": "old\n" });
    writeFiles(world.copy, { "a.txt": "ONE\n", "new/x.txt": "x\n" });
    symlinkSync("a.txt", join(world.copy, "link"));
    rmSync(join(world.copy, "gone.txt"));

    const { id, set } = await world.collect();

    expect(set.changes.map(({ path }) => path)).toEqual(["a.txt", "gone.txt", "link", "new", "new/x.txt"]);
    expect(set.changes[0]).toMatchObject({ before: { kept: true, size: 4 }, after: { kept: true, size: 4 } });
    expect(set.changes[1]).toMatchObject({ before: { kept: true } });
    expect(set.changes[1]).not.toHaveProperty("after");
    expect(set.changes[2]).toMatchObject({ after: { kind: "link", target: "a.txt" } });
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    const objects = readdirSync(join(world.stateDir, "objects"));
    expect(objects).toHaveLength(4);
    expect(statSync(join(world.stateDir, "objects", objects[0] ?? "")).mode & 0o777).toBe(0o600);
  });

  it("has a file whose size and time are as before, and one whose execute bit alone changed", async () => {
    const world = createWorld(FILES);
    const path = join(world.copy, "a.txt");
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "eno\n");
    utimesSync(path, atime, mtime);
    chmodSync(join(world.copy, "b/c.txt"), 0o755);

    const { set } = await world.collect();

    expect(set.changes.map(({ path: each }) => each)).toEqual(["a.txt", "b/c.txt"]);
    expect(set.changes[1]?.after).toMatchObject({ executable: true });
  });

  it("writes nothing of small files that are as they were", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { objects } = world.sets;
    let staged = 0;
    const counting: typeof objects = { ...objects, stage: (...given) => (staged++, objects.stage(...given)) };

    const asked = { base: world.base, read: () => readTree(world.copy), sessionId: SESSION, agent: "a" };
    await collectChangeSet({ ...asked, objects: counting, directory: world.directory });

    // The copy's content and the directory's of the one that changed.
    expect(staged).toBe(2);
  });

  it("has the same id for the same changes, and another one for others", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect();

    expect((await world.collect()).id).toBe(id);
    writeFiles(world.copy, { "a.txt": "UNO\n" });
    expect((await world.collect()).id).not.toBe(id);
  });

  it("says which files changed in the directory meanwhile, and keeps no base of them", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    writeFiles(world.directory, { "a.txt": "mine\n" });

    const { set } = await world.collect();

    expect(set.changes).toEqual([
      expect.objectContaining({
        before: expect.objectContaining({ kept: false }),
        notes: [expect.stringContaining("changed in the directory")],
      }),
    ]);
  });

  it("leaves out git's own folders in every spelling, and counts what is new in them", async () => {
    const world = createWorld({ ...FILES, ".git/HEAD": "ref\n" });
    writeFiles(world.copy, {
      ".git/HEAD": "evil\n",
      ".git/hooks/pre-commit": "evil\n",
      "sub/.GIT/config": "evil\n",
      "a.txt": "ONE\n",
    });

    const { set } = await world.collect();

    expect(set.changes.map(({ path }) => path)).toEqual(["a.txt", "sub"]);
    expect(set.gitPaths).toBe(4);
  });

  it("is undefined for a copy without changes", async () => {
    const world = createWorld(FILES);

    await expect(world.collect()).rejects.toThrow("no changes");
  });
});

describe("a collection that is cancelled", () => {
  const collect = ({ base, directory, sets }: World, copy: AsyncIterable<FoundEntry>, signal: AbortSignal) =>
    sets.collect({ base, read: () => copy, sessionId: SESSION, agent: "worker", directory, signal });

  const HANGING = new Readable({ read: () => undefined });

  it.each([
    ["between two entries", undefined],
    ["within a file that never ends", HANGING],
  ])("ends %s, and stores no set", async (_, content) => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const cancelling = new AbortController();
    const cancelSoon = (): void => void setImmediate(() => cancelling.abort(new Error("cancelled")));
    async function* hanging(): AsyncIterable<FoundEntry> {
      for await (const found of readTree(world.copy)) {
        if (content !== undefined) cancelSoon();
        yield { ...found, content: content ?? found.content };
        cancelSoon();
        // The engine says nothing more.
        await new Promise(() => undefined);
      }
    }

    await expect(collect(world, hanging(), cancelling.signal)).rejects.toThrow(/cancelled|aborted/);

    expect(await world.sets.list()).toEqual([]);
    expect(await collect(world, readTree(world.copy), new AbortController().signal)).toMatchObject({
      state: "pending",
    });
  });
});
