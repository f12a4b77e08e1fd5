import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { recoverApplies } from "@budgie/copies/apply";
import { showTree, type World } from "../helpers/create-world.ts";
import { AFTER, applyWith, BEFORE, LATE, prepare, STEPS } from "../helpers/interrupt-apply.ts";

it("an apply takes these steps", async () => {
  const world = await prepare();
  const taken: string[] = [];

  await applyWith(world, (step) => void taken.push(step));

  expect(taken).toEqual([...STEPS, ...LATE]);
  expect(showTree(world.directory)).toEqual(AFTER);
});

/** Starts an apply that stops for good at a step, as its process would at its death. */
async function dieAt(world: World & { readonly id: string }, last: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    applyWith(world, (step) => {
      if (step !== last) return undefined;
      resolve();
      return new Promise(() => undefined);
    }).catch(reject);
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

  it("leaves what someone wrote afterwards", async () => {
    const world = await prepare();
    await dieAt(world, "sync");
    // In place, as some editors save, and as a new file.
    const file = openSync(join(world.directory, "a.txt"), "a");
    writeSync(file, "mine\n");
    closeSync(file);
    writeFileSync(join(world.directory, "new/mine.txt"), "mine\n");

    expect(await recover(world)).toEqual([expect.stringContaining("others wrote")]);

    expect(showTree(world.directory)).toMatchObject({
      "a.txt": "ONE\nmine\n",
      "new/mine.txt": "mine\n",
      "gone.txt": "old\n",
    });
  });
});

describe("a disk that refuses", () => {
  it.each([...[...STEPS, "commit"].map((step) => ["ENOSPC", step] as const), ["EACCES", "link b/c.txt"] as const])(
    "with %s at %j leaves the directory as it was",
    async (code, last) => {
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
    },
  );
});
