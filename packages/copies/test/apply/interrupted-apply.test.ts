import { closeSync, openSync, readdirSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import { recoverApplies, settleApplies, undoChanges } from "@budgie/copies/apply";
import { showTree, type World } from "../helpers/create-world.ts";
import { AFTER, applyWith, BEFORE, LATE, prepare, STEPS, type OnStep } from "../helpers/interrupt-apply.ts";

it("an apply takes these steps", async () => {
  const world = await prepare();
  const taken: string[] = [];

  await applyWith(world, (step) => void taken.push(step));

  expect(taken).toEqual([...STEPS, ...LATE]);
  expect(showTree(world.directory)).toEqual(AFTER);
});

/** Starts an apply that stops for good at a step, as its process would at its death. */
async function dieAt(
  world: World & { readonly id: string },
  last: string,
  start = (onStep: OnStep): Promise<unknown> => applyWith(world, onStep),
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const ended = start((step) => {
      if (step !== last) return undefined;
      resolve();
      return new Promise(() => undefined);
    });
    ended.then(() => reject(new Error(`There is no step "${last}".`)), reject);
  });
}

/** Recovers with the next budgie, to which the first is dead. */
async function recover({ owner, sets, stateDir }: World): Promise<readonly string[]> {
  const next = createOwner({ stateDir });
  const state = { ...next, stateOf: async () => "dead" as const };
  expect(owner.record.instance).not.toBe(next.record.instance);
  try {
    return await recoverApplies({ sets, owner: state });
  } finally {
    await next.release();
  }
}

describe("a budgie that dies", () => {
  it.each([...STEPS, "commit"])("before %j is rolled back by the next one", async (step) => {
    const world = await prepare();
    await dieAt(world, step);

    expect(await recover(world)).toEqual([expect.stringContaining("taken back")]);

    expect(showTree(world.directory)).toEqual(BEFORE);
    expect((await world.sets.find(world.id)).state).toBe("pending");
    expect(await applyWith(world, () => undefined)).toMatchObject({ state: "applied" });
    expect(showTree(world.directory)).toEqual(AFTER);
  });

  it.each(["stage", "rename new/e.txt", "rename a.txt", "link a.txt", "rmdir new", "sync", "commit"])(
    "within an undo, before %j, is rolled back to what was applied",
    async (step) => {
      const world = await prepare();
      await applyWith(world, () => undefined);
      await dieAt(world, step, (onStep) => undoChanges({ ...world, onStep }));

      expect(await recover(world)).toEqual([expect.stringContaining("taken back")]);

      expect(showTree(world.directory)).toEqual(AFTER);
      expect(await undoChanges(world)).toMatchObject({ state: "undone" });
      expect(showTree(world.directory)).toEqual(BEFORE);
    },
  );

  it("would leave a part of its changes without the next one", async () => {
    const world = await prepare();

    await dieAt(world, "link b/c.txt");

    const left = showTree(world.directory);
    expect(left).toMatchObject({ "a.txt": "ONE\n" });
    expect(left).not.toHaveProperty("b/c.txt");
  });

  it("after all is written is finished by the next one", async () => {
    const world = await prepare();
    await dieAt(world, "clean");

    expect(await recover(world)).toEqual([]);

    expect(showTree(world.directory)).toEqual(AFTER);
    expect((await world.sets.find(world.id)).state).toBe("applied");
  });

  it("is not taken for dead while it lives: its directory takes no second apply", async () => {
    const world = await prepare();
    await dieAt(world, "link a.txt");

    await expect(applyWith(world, () => undefined)).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining("under way"),
    });
  });

  it.each([
    ["link b/c.txt", /but for 6 paths whose old content went with the folder ".budgie-apply-.*: .*b\/c\.txt/],
    ["stage", /is taken back\.$/],
  ])("before %j is not said to be taken back where what it moved aside was removed since", async (step, told) => {
    const world = await prepare();
    await dieAt(world, step);
    const stage = readdirSync(world.directory).find((name) => name.startsWith(".budgie-apply-")) ?? "";
    rmSync(join(world.directory, stage), { recursive: true });

    expect(await recover(world)).toEqual([expect.stringMatching(told)]);
  });

  it("leaves what someone wrote afterwards", async () => {
    const world = await prepare();
    await dieAt(world, "sync");
    // In place, as some editors save, and as a new file.
    const file = openSync(join(world.directory, "a.txt"), "a");
    writeSync(file, "mine\n");
    closeSync(file);
    writeFileSync(join(world.directory, "new/mine.txt"), "mine\n");

    expect(await recover(world)).toEqual([expect.stringMatching(/2 paths that others wrote meanwhile: .*a\.txt/)]);

    expect(showTree(world.directory)).toMatchObject({
      "a.txt": "ONE\nmine\n",
      "new/mine.txt": "mine\n",
      "gone.txt": "old\n",
    });
  });
});

/** Puts a file in the place of the stage, as something that nobody can take back through. Returns a function that undoes that. */
function spoilStage({ directory }: World): () => void {
  const name = readdirSync(directory).find((each) => each.startsWith(".budgie-apply-")) ?? "";
  const stage = join(directory, name);
  renameSync(stage, `${directory}-stage`);
  writeFileSync(stage, "");
  return () => {
    rmSync(stage);
    renameSync(`${directory}-stage`, stage);
  };
}

describe("an apply that cannot be taken back", () => {
  it("is told, and taken back by a later call of the same budgie", async () => {
    const world = await prepare();
    await dieAt(world, "link a.txt");
    const next = createOwner({ stateDir: world.stateDir });
    onTestFinished(() => next.release());
    const owner = { ...next, stateOf: async () => "dead" as const };
    const repair = spoilStage(world);

    expect(await recoverApplies({ ...world, owner })).toEqual([
      expect.stringContaining("cannot be taken back yet (ENOTDIR)"),
    ]);
    repair();

    expect(await recoverApplies({ ...world, owner: next })).toEqual([expect.stringContaining("is taken back")]);
    expect(showTree(world.directory)).toEqual(BEFORE);
  });

  it("after it failed is taken back by the next apply of the same budgie", async () => {
    const world = await prepare();
    let repair = (): void => undefined;

    const failing = applyWith(world, (step) => {
      if (step !== "link a.txt") return;
      repair = spoilStage(world);
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    });

    await expect(failing).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    await expect(applyWith(world, () => undefined)).rejects.toThrow("under way");
    repair();
    expect(await applyWith(world, () => undefined)).toMatchObject({ state: "applied" });
    expect(showTree(world.directory)).toEqual(AFTER);
  });
});

describe("a directory that is about to be copied", () => {
  it("is what it was before an apply that was interrupted", async () => {
    const world = await prepare();
    await dieAt(world, "link a.txt");
    const owner = {
      ...world.owner,
      record: { ...world.owner.record, instance: "next" },
      stateOf: async () => "dead" as const,
    };

    expect(await settleApplies({ sets: world.sets, owner }, world.directory)).toEqual([
      expect.stringContaining("taken back"),
    ]);

    expect(showTree(world.directory)).toEqual(BEFORE);
  });

  it("is refused while an apply is under way in it, and no other one is", async () => {
    const world = await prepare();
    await dieAt(world, "link a.txt");

    await expect(settleApplies(world, world.directory)).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining("under way"),
    });
    expect(await settleApplies(world, world.outside)).toEqual([]);
  });
});

describe("a disk that refuses", () => {
  const CALLS = [...STEPS, "commit"].flatMap((step) => [["ENOSPC", step] as const, ["EACCES", step] as const]);

  it.each(CALLS)("with %s at %j leaves the directory as it was", async (code, last) => {
    const world = await prepare();

    const applied = applyWith(world, (step) => {
      if (step === last) throw Object.assign(new Error(code), { code });
    });

    await expect(applied).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(code),
    });
    expect(showTree(world.directory)).toEqual(BEFORE);
    expect(await applyWith(world, () => undefined)).toMatchObject({ state: "applied" });
  });
});
