import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { undoChanges } from "@budgie/copies/apply";
import { showTree, writeFiles } from "../helpers/create-world.ts";
import { AFTER, applyWith, BEFORE, prepare, STEPS } from "../helpers/interrupt-apply.ts";

/** Saves a file as most editors do: a new one takes its name. */
function save(directory: string, path: string): void {
  writeFileSync(join(directory, "draft~"), "mine\n");
  renameSync(join(directory, "draft~"), join(directory, path));
}

describe("an editor that saves", () => {
  it.each(STEPS.slice(0, STEPS.indexOf("link a.txt") + 1))(
    "a file before %j, which replaces it, keeps its version, and nothing is applied",
    async (last) => {
      const world = await prepare();

      const result = await applyWith(world, (step) => {
        if (step === last) save(world.directory, "a.txt");
      });

      expect(result).toMatchObject({ state: "pending", conflicts: [{ path: "a.txt" }] });
      expect(showTree(world.directory)).toEqual({ ...BEFORE, "a.txt": "mine\n" });
      const after = (await world.sets.find(world.id)).set.changes.find(({ path }) => path === "a.txt")?.after;
      expect(after).toMatchObject({ kind: "file", kept: true });
    },
  );

  it.each(STEPS.slice(STEPS.indexOf("link a.txt") + 1))(
    "a file after it was written, before %j, keeps its version",
    async (last) => {
      const world = await prepare();

      await applyWith(world, (step) => {
        if (step === last) save(world.directory, "a.txt");
      });

      expect(showTree(world.directory)).toEqual({ ...AFTER, "a.txt": "mine\n" });
      const undone = await undoChanges({ sets: world.sets, owner: world.owner, id: world.id });
      expect(undone).toMatchObject({ applied: [], conflicts: [{ path: "a.txt" }] });
    },
  );

  it("a file after it was written is named, if another one then stops the apply", async () => {
    const world = await prepare();

    const { conflicts } = await applyWith(world, (step) => {
      if (step === "rename b/c.txt") save(world.directory, "a.txt");
      if (step === "link b/c.txt") save(world.directory, "b/c.txt");
    });

    expect(conflicts).toEqual([
      { path: "b/c.txt", why: expect.stringContaining("meanwhile") },
      { path: "a.txt", why: expect.stringContaining("stays") },
    ]);
    expect(showTree(world.directory)).toEqual({ ...BEFORE, "a.txt": "mine\n", "b/c.txt": "mine\n" });
  });

  it("ends the apply before anything takes the place of its version", async () => {
    const world = await prepare();
    const taken: string[] = [];

    await applyWith(world, (step) => {
      taken.push(step);
      if (step === "rename a.txt") save(world.directory, "a.txt");
    });

    expect(taken).not.toContain("link a.txt");
  });

  it("through a descriptor that it opened before keeps its text, and nothing is applied", async () => {
    const world = await prepare();
    const file = openSync(join(world.directory, "a.txt"), "a");

    const result = await applyWith(world, (step) => {
      if (step === "verify") writeSync(file, "mine\n");
    });
    closeSync(file);

    expect(result.conflicts).toEqual([{ path: "a.txt", why: expect.stringContaining("meanwhile") }]);
    expect(showTree(world.directory)).toEqual({ ...BEFORE, "a.txt": "one\nmine\n" });
  });

  it("a new file where one is about to come keeps it", async () => {
    const world = await prepare();

    const result = await applyWith(world, (step) => {
      if (step === "link new/e.txt") writeFileSync(join(world.directory, "new/e.txt"), "mine\n");
    });

    expect(result.conflicts).toEqual([
      { path: "new/e.txt", why: expect.stringContaining("meanwhile") },
      { path: "new", why: expect.stringContaining("stays") },
    ]);
    expect(showTree(world.directory)).toEqual({ ...BEFORE, "new/": "", "new/e.txt": "mine\n" });
  });
});

describe("a folder that becomes a link outwards", () => {
  it.each(STEPS.slice(STEPS.indexOf("mkdir new")))("before %j leads nothing outside", async (last) => {
    const world = await prepare();
    const outside = { "c.txt": "two\n", "secret.txt": "of the user\n" };
    writeFiles(world.outside, outside);

    await applyWith(world, (step) => {
      if (step !== last) return;
      for (const name of ["b", "new"]) {
        if (existsSync(join(world.directory, name)))
          renameSync(join(world.directory, name), join(world.directory, `${name}-moved`));
        symlinkSync(world.outside, join(world.directory, name));
      }
    }).catch(() => undefined);

    expect(showTree(world.outside)).toEqual(outside);
    expect(readdirSync(world.outside)).toHaveLength(2);
  });

  it("would lead outside by its path alone", async () => {
    const world = await prepare();
    rmSync(join(world.directory, "b"), { recursive: true });
    symlinkSync(world.outside, join(world.directory, "b"));

    writeFileSync(join(world.directory, "b/c.txt"), "TWO\n");

    expect(showTree(world.outside)).toMatchObject({ "c.txt": "TWO\n" });
  });
});
