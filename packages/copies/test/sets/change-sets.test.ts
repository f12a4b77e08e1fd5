import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { undoChanges } from "@budgie/copies/apply";
import { createChangeSets } from "@budgie/copies/sets";
import { applyIn, createWorld, readTree, showTree, writeFiles, type World } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n" };

describe("stored sets", () => {
  const DAY_MS = 24 * 60 * 60 * 1000;

  it("expire by age and size, the oldest first, and their contents with them", async () => {
    const world = createWorld(FILES, { maxAgeMs: 7 * DAY_MS, maxBytes: 10 });
    const collect = (sessionId: string) => {
      const { base, copy, directory, sets } = world;
      return sets.collect({ base, read: () => readTree(copy), sessionId, agent: "worker", directory });
    };
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const first = await collect("s1");
    for (const name of readdirSync(join(world.stateDir, "objects")))
      utimesSync(join(world.stateDir, "objects", name), 0, 0);
    writeFiles(world.copy, { "a.txt": "TWO\n" });
    const second = await collect("s2");

    expect((await world.sets.list()).map(({ id }) => id)).toEqual([second?.id]);
    expect(await world.sets.objects.read(toDigest(first))).toBeUndefined();
    expect((await world.sets.objects.read(toDigest(second)))?.toString()).toBe("TWO\n");
  });

  it("stay beyond that while they are needed", async () => {
    const { base, copy, directory, stateDir } = createWorld(FILES);
    let now = Date.now();
    const clock = vi.spyOn(Date, "now").mockImplementation(() => ++now);
    onTestFinished(() => clock.mockRestore());
    const asked: unknown[] = [];
    const isNeeded = async ({ id, sessionId }: { readonly id: string; readonly sessionId: string }) => {
      asked.push([id, sessionId]);
      return sessionId === "s1";
    };
    const sets = createChangeSets({ stateDir, keep: { maxAgeMs: 7 * DAY_MS, maxBytes: 0 }, isNeeded });
    onTestFinished(sets.close);
    const ids: unknown[] = [];
    for (const sessionId of ["s1", "s2", "s3"]) {
      writeFiles(copy, { "a.txt": sessionId });
      ids.push((await sets.collect({ base, read: () => readTree(copy), sessionId, agent: "worker", directory }))?.id);
    }

    expect((await sets.list()).map(({ sessionId }) => sessionId).toSorted()).toEqual(["s1", "s3"]);
    expect(asked).toContainEqual([ids[0], "s1"]);
  });

  function toDigest(stored: Awaited<ReturnType<World["collect"]>> | undefined): string {
    const after = stored?.set.changes[0]?.after;
    return after?.kind === "file" ? (after.digest ?? "") : "";
  }

  it("are discarded once, and not applied after that", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect();

    expect((await world.sets.discard(id)).state).toBe("discarded");
    expect((await world.sets.discard(id.slice(0, 8))).state).toBe("discarded");
    await expect(applyIn(world, id)).rejects.toThrow("is discarded");
    await expect(world.sets.find("ffff")).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });

  it("are either applied or discarded, whichever begins first", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect();

    const applied = await applyIn(world, id, {
      async onStep(name) {
        if (name === "stage") await expect(world.sets.discard(id)).rejects.toThrow("under way");
      },
    });
    expect(applied.state).toBe("applied");

    writeFiles(world.copy, { "a.txt": "TWO\n" });
    const next = await world.collect();
    const planned = await world.sets.find(next.id);
    await world.sets.discard(next.id);
    const { directory, root, state } = planned;
    const begun = world.sets.archive.begin({
      root,
      directory,
      changeId: next.id,
      state,
      owner: world.owner.record,
      plan: {},
    });
    await expect(begun).rejects.toThrow("is discarded since");
  });

  it("that are discarded after a part was applied keep what an undo of that part needs", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n", "AGENTS.md": "obey\n" });
    const { id } = await world.collect();
    await applyIn(world, id);
    await world.sets.discard(id);
    const folder = join(world.stateDir, "objects");
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0);
    await world.collect();

    const undone = await undoChanges({ sets: world.sets, owner: world.owner, id });

    expect(undone).toMatchObject({ state: "undone", conflicts: [] });
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "" });
  });

  it("whose object is damaged are not applied", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect();
    const folder = join(world.stateDir, "objects");
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), "evil\n");
    mkdirSync(join(world.directory, "other"));

    const result = await applyIn(world, id);

    expect(result.conflicts).toEqual([{ path: "a.txt", why: expect.stringContaining("damaged") }]);
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "", "other/": "" });
  });
});
