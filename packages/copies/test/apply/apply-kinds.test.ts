import { chmodSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { undoChanges } from "@budgie/copies/apply";
import { applyIn, createWorld, readTree, SESSION, showTree, writeFiles } from "../helpers/create-world.ts";

describe("an apply of modes, kinds and names", () => {
  it("gives a file the copy's execute bits and no setuid bit", async () => {
    const world = createWorld({ "run.sh": "echo\n", "old.sh": "echo\n" });
    chmodSync(join(world.copy, "run.sh"), 0o4755);
    writeFileSync(join(world.copy, "new.sh"), "echo\n");
    chmodSync(join(world.copy, "new.sh"), 0o6755);
    const { id, set } = await world.collect();

    await applyIn(world, id);

    const modeOf = (name: string): number => statSync(join(world.directory, name)).mode & 0o7777;
    expect([modeOf("run.sh") & 0o7100, modeOf("new.sh") & 0o7100, modeOf("old.sh") & 0o100]).toEqual([0o100, 0o100, 0]);
    expect(set.changes.map(({ notes }) => notes)).toEqual([
      [expect.stringContaining("setuid")],
      [expect.stringContaining("setuid")],
    ]);
  });

  it("changes kinds: a file becomes a folder, a folder a link, a link a file", async () => {
    const world = createWorld({ x: "file\n", "y/z.txt": "in y\n", "target.txt": "t\n" });
    symlinkSync("target.txt", join(world.directory, "l"));
    const before = { ...showTree(world.directory) };
    const again = {
      ...world,
      base: { entries: [...world.base.entries, { path: "l", kind: "link", target: "target.txt" } as const] },
    };
    rmSync(join(world.copy, "x"));
    writeFiles(world.copy, { "x/in.txt": "in x\n", l: "a file\n" });
    rmSync(join(world.copy, "y"), { recursive: true });
    symlinkSync("target.txt", join(world.copy, "y"));
    const base = { entries: again.base.entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
    const stored = await world.sets.collect({
      base,
      read: () => readTree(world.copy),
      sessionId: SESSION,
      agent: "worker",
      directory: world.directory,
    });
    const id = stored?.id ?? "";

    expect(await applyIn(world, id)).toMatchObject({ state: "applied", conflicts: [] });
    expect(showTree(world.directory)).toEqual({
      l: "a file\n",
      "target.txt": "t\n",
      "x/": "",
      "x/in.txt": "in x\n",
      y: "-> target.txt",
    });

    await undoChanges({ sets: world.sets, owner: world.owner, id });
    expect(showTree(world.directory)).toEqual(before);
  });

  it("keeps a folder that has files which the copy did not have", async () => {
    const world = createWorld({ "b/c.txt": "two\n" });
    writeFiles(world.directory, { "b/ignored.log": "log\n" });
    rmSync(join(world.copy, "b"), { recursive: true });
    const { id } = await world.collect();

    await applyIn(world, id);

    expect(showTree(world.directory)).toEqual({ "b/": "", "b/ignored.log": "log\n" });
  });

  it("renames a file in case only", async () => {
    const world = createWorld({ "Readme.md": "hello\n" });
    renameSync(join(world.copy, "Readme.md"), join(world.copy, "README.md"));
    const { id, set } = await world.collect();

    await applyIn(world, id);

    expect(showTree(world.directory)).toEqual({ "README.md": "hello\n" });
    expect(set.changes.flatMap(({ notes = [] }) => notes)).toEqual(Array(2).fill(expect.stringContaining("case only")));
  });
});
