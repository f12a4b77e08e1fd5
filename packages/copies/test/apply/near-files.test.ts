import fs, { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { recoverApplies } from "@budgie/copies/apply";
import { showTree, type World } from "../helpers/create-world.ts";
import { AFTER, applyWith, BEFORE, prepare } from "../helpers/interrupt-apply.ts";

/** Runs `work` in place of each move of a new file from its folder into the stage. Calls are chosen when the directory is opened. */
function onMove(work: (from: string, move: () => void) => unknown): void {
  const { renameSync } = fs;
  onTestFinished(() => void Object.assign(fs, { renameSync }));
  Object.assign(fs, {
    renameSync(...given: Parameters<typeof renameSync>) {
      const from = String(given[0]);
      const isNear = /\/\.budgie-apply-[0-9a-f]+-\d+$/.test(from);
      return isNear ? work(from, () => renameSync(...given)) : renameSync(...given);
    },
  });
}

function listNear({ directory }: World): readonly string[] {
  return ["", "b"].flatMap((folder) =>
    readdirSync(join(directory, folder)).filter((name) => /^\.budgie-apply-[0-9a-f]+-\d+$/.test(name)),
  );
}

it("a new file that was not in the stage yet when budgie died is removed by the next one", async () => {
  const world = await prepare();
  await new Promise<void>((resolve) => {
    // A call that never returns, as at the process's death.
    onMove((from) => {
      if (from.endsWith("-5")) resolve();
      return new Promise(() => undefined);
    });
    void applyWith(world, () => undefined);
  });
  expect(listNear(world)).not.toEqual([]);
  const owner = { ...world.owner, record: { ...world.owner.record, instance: "next" }, stateOf: async () => "dead" };

  expect(await recoverApplies({ sets: world.sets, owner: owner as never })).toEqual([
    expect.stringMatching(/is taken back\.$/),
  ]);

  expect(showTree(world.directory)).toEqual(BEFORE);
});

it("a new file is made in the stage if it cannot be moved there", async () => {
  const world = await prepare();
  let moves = 0;
  onMove(() => {
    moves += 1;
    throw Object.assign(new Error("elsewhere"), { code: "EXDEV" });
  });

  expect(await applyWith(world, () => undefined)).toMatchObject({ state: "applied" });

  expect(moves).toBeGreaterThan(0);
  expect(showTree(world.directory)).toEqual(AFTER);
});

it("another file in the place of a new one is not taken for that", async () => {
  const world = await prepare();
  let moves = 0;
  onMove((from, move) => {
    moves += 1;
    fs.unlinkSync(from);
    writeFileSync(from, "planted\n");
    move();
  });

  expect(await applyWith(world, () => undefined)).toMatchObject({ state: "applied" });

  expect(moves).toBeGreaterThan(0);
  expect(showTree(world.directory)).toEqual(AFTER);
});
