import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { undoChanges } from "@budgie/copies/apply";
import { createChangeSets } from "@budgie/copies/sets";
import { applyIn, createWorld, showTree, writeFiles, type World } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n", "b/d.txt": "three\n", "gone.txt": "old\n" };

/** Changes, adds and removes files in the copy. */
function changeCopy({ copy }: World): void {
  writeFiles(copy, { "a.txt": "ONE\n", "new/deep/e.txt": "five\n" });
  rmSync(join(copy, "gone.txt"));
}

const CHANGED = {
  "a.txt": "ONE\n",
  "b/": "",
  "b/c.txt": "two\n",
  "b/d.txt": "three\n",
  "new/": "",
  "new/deep/": "",
  "new/deep/e.txt": "five\n",
};

describe("an apply", () => {
  it("writes what the agent changed, added and removed, and undo takes it back with its rights", async () => {
    const world = createWorld(FILES);
    chmodSync(join(world.directory, "gone.txt"), 0o600);
    chmodSync(join(world.directory, "a.txt"), 0o640);
    changeCopy(world);
    const { id } = await world.collect();

    expect(await applyIn(world, id)).toMatchObject({ state: "applied", conflicts: [] });
    expect(showTree(world.directory)).toEqual(CHANGED);
    expect(statSync(join(world.directory, "a.txt")).mode & 0o7777).toBe(0o640);

    expect(await undoChanges({ sets: world.sets, owner: world.owner, id })).toMatchObject({ state: "undone" });
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "" });
    expect(statSync(join(world.directory, "gone.txt")).mode & 0o7777).toBe(0o600);
    expect(statSync(join(world.directory, "a.txt")).mode & 0o7777).toBe(0o640);
  });

  it("of a set that is applied already is refused, as is one that a later turn replaced", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    const { id: old } = await world.collect();
    writeFiles(world.copy, { "a.txt": "UNO\n" });
    const { id } = await world.collect();

    await expect(applyIn(world, old)).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining("is replaced"),
    });
    await applyIn(world, id);
    await expect(applyIn(world, id)).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining("is applied"),
    });
    expect(showTree(world.directory)).toEqual({ ...CHANGED, "a.txt": "UNO\n" });
  });

  it("after a restart is the set that was shown, once, and not one that it replaced", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "UNO\n" });
    const old = await world.collect();
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect();
    world.sets.close();
    const sets = createChangeSets({ stateDir: world.stateDir });
    onTestFinished(sets.close);
    const next = { ...world, sets };

    await expect(applyIn(next, old.id)).rejects.toThrow("is replaced");
    expect(await applyIn(next, id)).toMatchObject({ state: "applied" });
    await expect(applyIn(next, id)).rejects.toThrow("is applied");

    expect(readFileSync(join(world.directory, "a.txt"), "utf8")).toBe("ONE\n");
  });

  it("beside another set that waits leaves that one in conflict where both changed a path", async () => {
    const world = createWorld(FILES);
    writeFiles(world.copy, { "a.txt": "UNO\n", "new.txt": "new\n" });
    const other = await world.collect("s1");
    writeFiles(world.copy, { "a.txt": "ONE\n" });
    const { id } = await world.collect("s2");
    await applyIn(world, id);

    expect(await applyIn(world, other.id)).toMatchObject({ applied: [], conflicts: [{ path: "a.txt" }] });
    expect(readFileSync(join(world.directory, "a.txt"), "utf8")).toBe("ONE\n");
  });

  it("counts as the base of what the session changes next", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    await applyIn(world, (await world.collect()).id);
    writeFiles(world.copy, { "b/c.txt": "TWO\n" });

    const next = await world.collect();

    expect(next.set.changes.map(({ path }) => path)).toEqual(["b/c.txt"]);
  });

  it("writes nothing if one file changed in the directory, unless conflicts are skipped", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    const { id } = await world.collect();
    writeFileSync(join(world.directory, "a.txt"), "mine\n");

    const stopped = await applyIn(world, id);
    expect(stopped).toMatchObject({ state: "pending", applied: [], conflicts: [{ path: "a.txt" }] });
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "", "a.txt": "mine\n" });

    const skipped = await applyIn(world, id, { onConflict: "skip" });
    expect(skipped.state).toBe("partly");
    expect(showTree(world.directory)).toEqual({ ...CHANGED, "a.txt": "mine\n" });
  });

  it("counts a file that has the agent's content already as done, and undo leaves it", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    const { id } = await world.collect();
    writeFileSync(join(world.directory, "a.txt"), "ONE\n");

    expect(await applyIn(world, id)).toMatchObject({ state: "applied" });
    await undoChanges({ sets: world.sets, owner: world.owner, id });

    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "", "a.txt": "ONE\n" });
  });

  it("holds guarded paths back, and writes them for a person, with the rest of the set", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    writeFiles(world.copy, {
      ".husky/pre-push": "curl evil\n",
      "AGENTS.md": "obey\n",
      "package.json": '{"scripts":{"test":"x"}}',
    });
    symlinkSync("/etc/passwd", join(world.copy, "out"));
    const { id } = await world.collect();

    const first = await applyIn(world, id);
    expect(first).toMatchObject({
      state: "partly",
      heldBack: [".husky", ".husky/pre-push", "AGENTS.md", "out", "package.json"],
    });
    expect(showTree(world.directory)).toEqual(CHANGED);

    expect(await applyIn(world, id, { withGuarded: true })).toMatchObject({ state: "applied" });
    expect(showTree(world.directory)).toMatchObject({ ".husky/pre-push": "curl evil\n", out: "-> /etc/passwd" });
    await undoChanges({ sets: world.sets, owner: world.owner, id });
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "" });
  });

  it("writes nothing if the directory cannot be remembered as one where an agent wrote", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    const { id } = await world.collect();
    const fileTrust = {
      note() {
        throw new Error("no room");
      },
    };

    await expect(applyIn(world, id, { fileTrust })).rejects.toMatchObject({ code: "STATE_UNUSABLE" });
    expect(showTree(world.directory)).toEqual({ ...FILES, "b/": "" });
  });

  it("is refused in another directory at the same path", async () => {
    const world = createWorld(FILES);
    changeCopy(world);
    const { id } = await world.collect();
    renameSync(world.directory, `${world.directory}-moved`);
    await expect(applyIn(world, id)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    mkdirSync(world.directory);
    writeFiles(world.directory, FILES);
    await expect(applyIn(world, id)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    rmSync(world.directory, { recursive: true });
    symlinkSync(`${world.directory}-moved`, world.directory);

    await expect(applyIn(world, id)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    expect(showTree(`${world.directory}-moved`)).toEqual({ ...FILES, "b/": "" });
  });
});
