import {
  closeSync,
  existsSync,
  futimesSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { undoChanges } from "@budgie/copies/apply";
import { showTree, writeFiles, type World } from "../helpers/create-world.ts";
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

  it("would lose its version to a program that writes by names alone", async () => {
    const world = await prepare();
    save(world.directory, "a.txt");

    writeFileSync(join(world.directory, "a.txt"), "ONE\n");

    expect(JSON.stringify(showTree(world.directory))).not.toContain("mine");
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

  it.each(["rename a.txt", "check a.txt", "verify"])(
    "in place before %j, and sets size and time back, keeps its text",
    async (last) => {
      const world = await prepare();
      const path = join(world.directory, "a.txt");
      // Whole seconds, which can be set back to the nanosecond.
      utimesSync(path, 0, 0);
      const file = openSync(path, "r+");

      const result = await applyWith(world, (step) => {
        if (step !== last) return;
        writeSync(file, "uno\n", 0);
        futimesSync(file, 0, 0);
      });
      closeSync(file);

      expect(result.conflicts).toEqual([{ path: "a.txt", why: expect.stringContaining("meanwhile") }]);
      expect(showTree(world.directory)).toEqual({ ...BEFORE, "a.txt": "uno\n" });
    },
  );

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

describe("a folder that becomes a link outwards and back, again and again", () => {
  const ROUNDS = 20;

  it("leads nothing outside", async () => {
    const world = await prepare();
    writeFiles(world.outside, OUTSIDE);
    await using _ = await exchange(world);

    for (let round = 0; round < ROUNDS; round++) {
      await applyWith(world, () => undefined).catch(() => undefined);
      await undoChanges(world).catch(() => undefined);
      // An undone set waits once more when it is found again. One that could not be undone leaves nothing to find.
      await world.collect().catch(() => undefined);
    }

    expect(showTree(world.outside)).toEqual(OUTSIDE);
  });

  it("would lead outside a program that writes by names alone", async () => {
    const world = await prepare();
    writeFiles(world.outside, OUTSIDE);
    await using _ = await exchange(world);

    for (;;) {
      await writeFile(join(world.directory, "b/c.txt"), "TWO\n").catch(() => undefined);
      if (showTree(world.outside)["c.txt"] === "TWO\n") return;
    }
  });

  const OUTSIDE = { "c.txt": "two\n", "secret.txt": "of the user\n" };

  /** Has a thread exchange the folder `b` with a link until it is disposed of. */
  async function exchange({ directory, outside }: World): Promise<AsyncDisposable> {
    const program = `
      const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
      const { parentPort, workerData: { folder, outside } } = require("node:worker_threads");
      parentPort.postMessage("ready");
      for (;;) {
        try {
          renameSync(folder, folder + "-moved");
          symlinkSync(outside, folder);
          unlinkSync(folder);
          renameSync(folder + "-moved", folder);
        } catch {}
      }`;
    const worker = new Worker(program, { eval: true, workerData: { folder: join(directory, "b"), outside } });
    await once(worker, "message");
    return { [Symbol.asyncDispose]: () => worker.terminate().then(() => undefined) };
  }
});
