import fs, { chmodSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { recoverApplies } from "@budgie/copies/apply";
import { applyIn, createWorld, showTree } from "../helpers/create-world.ts";
import { AFTER, applyWith, BEFORE, prepare } from "../helpers/interrupt-apply.ts";

describe("an apply on a disk that also refuses its way back", () => {
  it("is told, and taken back by the next call once the disk does not refuse any more", async () => {
    const world = await prepare();
    // Calls are chosen when the directory is opened.
    let isFull = false;
    const { linkSync } = fs;
    onTestFinished(() => void (fs.linkSync = linkSync));
    fs.linkSync = (from, to) => {
      if (isFull) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      linkSync(from, to);
    };

    const applied = applyWith(world, (step) => void (isFull ||= step === "link b/c.txt"));

    await expect(applied).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining("not all taken back yet"),
    });
    expect(showTree(world.directory)).not.toHaveProperty("b/c.txt");
    expect(await recoverApplies(world)).toEqual([expect.stringContaining("cannot be taken back yet (ENOSPC)")]);
    isFull = false;
    expect(await recoverApplies(world)).toEqual([expect.stringContaining("is taken back")]);
    expect(showTree(world.directory)).toEqual(BEFORE);
    expect(await applyWith(world, () => undefined)).toMatchObject({ state: "applied" });
    expect(showTree(world.directory)).toEqual(AFTER);
  });
});

describe("an apply whose way back the disk refuses", () => {
  it("keeps its journal if a folder cannot be made again, and first frees the room of its new files", async () => {
    const world = createWorld({ "a.txt": "one\n", "b/c.txt": "two\n" });
    writeFileSync(join(world.copy, "a.txt"), "ONE\n");
    rmSync(join(world.copy, "b"), { recursive: true });
    const { id } = await world.collect();
    const disk = refuseToLookAt((path) => path.endsWith("/b"));

    const applied = applyIn(world, id, { onStep: (step: string) => disk.failAt(step, "verify") });

    await expect(applied).rejects.toThrow("not all taken back yet");
    expect(showTree(world.directory)).toMatchObject({ "a.txt": "one\n" });
    expect(readdirSync(join(world.directory, findStage(world.directory)))).toEqual(["o0"]);
    expect(await recoverApplies(world)).toEqual([expect.stringContaining("cannot be taken back yet (ENOSPC)")]);
    disk.mend();
    expect(await recoverApplies(world)).toEqual([expect.stringMatching(/is taken back\.$/)]);
    expect(showTree(world.directory)).toEqual({ "a.txt": "one\n", "b/": "", "b/c.txt": "two\n" });
  });

  it("keeps its journal if the disk does not tell what was done", async () => {
    const world = await prepare();
    const disk = refuseToLookAt(() => true);

    const applied = applyWith(world, (step) => disk.failAt(step, "link b/c.txt"));

    await expect(applied).rejects.toThrow("not all taken back yet");
    disk.mend();
    expect(await recoverApplies(world)).toEqual([expect.stringMatching(/is taken back\.$/)]);
    expect(showTree(world.directory)).toEqual(BEFORE);
  });
});

/** Makes a disk that fails at a step of an apply, and from then on for each path that is looked at and chosen. */
function refuseToLookAt(isRefused: (path: string) => boolean) {
  let isFull = false;
  const { lstatSync } = fs;
  onTestFinished(() => void Object.assign(fs, { lstatSync }));
  const full = () => Object.assign(new Error("full"), { code: "ENOSPC" });
  Object.assign(fs, {
    lstatSync(...given: Parameters<typeof lstatSync>) {
      if (isFull && Buffer.isBuffer(given[0]) && isRefused(given[0].toString())) throw full();
      return lstatSync(...given);
    },
  });
  return {
    failAt(step: string, last: string): void {
      if (step !== last) return;
      isFull = true;
      throw full();
    },
    mend: () => void (isFull = false),
  };
}

function findStage(directory: string): string {
  return readdirSync(directory).find((name) => name.startsWith(".budgie-apply-")) ?? "";
}

describe("an apply that is taken back", () => {
  it("gives a folder that it removed its permission bits again, whatever those of new folders are", async () => {
    const world = createWorld({ "b/c.txt": "two\n" });
    chmodSync(join(world.directory, "b"), 0o1777);
    rmSync(join(world.copy, "b"), { recursive: true });
    const { id } = await world.collect();

    const applied = applyIn(world, id, {
      onStep(step: string) {
        if (step === "verify") throw Object.assign(new Error("full"), { code: "ENOSPC" });
      },
    });

    await expect(applied).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    expect(statSync(join(world.directory, "b")).mode & 0o7777).toBe(0o1777);
    expect(readdirSync(world.directory)).toEqual(["b"]);
  });

  it("names a file that stays aside, since its folder was moved away meanwhile", async () => {
    const world = await prepare();

    const applied = applyWith(world, (step) => {
      if (step !== "link b/c.txt") return;
      renameSync(join(world.directory, "b"), `${world.directory}-b`);
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    });

    await expect(applied).rejects.toThrow(/1 paths could not be put back/);
    expect(Object.values(showTree(join(world.directory, findStage(world.directory))))).toEqual(["two\n"]);
  });
});
