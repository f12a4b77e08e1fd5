import { createHash } from "node:crypto";
import { chmodSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceCopy } from "@budgie/core/copies";
import { expect, it } from "vitest";
import { reviewSet } from "../../src/review/review-set.ts";
import { applyIn, SESSION, showTree, writeFiles } from "../helpers/create-world.ts";
import { clear, openFilledPlace } from "../helpers/open-filled-place.ts";

it("A refresh takes over what changed in the directory, and keeps the agent's work", async () => {
  const { copy, directory, refresh } = await openFilledPlace({
    "left.txt": "1\n",
    "gone.txt": "1\n",
    "own.txt": "1\n",
    "removed.txt": "1\n",
    "run.sh": "1\n",
    "sub/x.txt": "1\n",
  });
  writeFiles(copy, { "own.txt": "agent\n", "new/of/agent.txt": "agent\n" });
  rmSync(join(copy, "removed.txt"));
  symlinkSync("own.txt", join(copy, "link"));
  writeFiles(directory, { "left.txt": "user\n", "new/of/user.txt": "user\n" });
  rmSync(join(directory, "gone.txt"));
  chmodSync(join(directory, "run.sh"), 0o755);

  const report = await refresh();

  expect(showTree(copy)).toEqual({
    "left.txt": "user\n",
    link: "-> own.txt",
    "new/": "",
    "new/of/": "",
    "new/of/agent.txt": "agent\n",
    "new/of/user.txt": "user\n",
    "own.txt": "agent\n",
    "run.sh": "1\n",
    "sub/": "",
    "sub/x.txt": "1\n",
  });
  expect(report).toMatchObject({
    isReused: true,
    refreshed: {
      taken: { count: 4, paths: ["gone.txt", "left.txt", "run.sh", "new/of/user.txt"] },
      kept: { count: 0 },
    },
  });
});

it("What both changed stays the agent's and a conflict, and what the directory has too is no change any more", async () => {
  const world = await openFilledPlace({ "both.txt": "1\n", "same.txt": "1\n", "own.txt": "1\n" });
  writeFiles(world.copy, { "both.txt": "agent\n", "same.txt": "2\n", "own.txt": "agent\n" });
  writeFiles(world.directory, { "both.txt": "user\n", "same.txt": "2\n" });

  const report = await world.refresh();
  const set = await world.collect();

  expect(report.refreshed).toEqual({ taken: { count: 0, paths: [] }, kept: { count: 1, paths: ["both.txt"] } });
  expect(readFileSync(join(world.copy, "both.txt"), "utf8")).toBe("agent\n");
  expect(set?.set.changes.map(({ path }) => path)).toEqual(["both.txt", "own.txt"]);
  const stopped = await applyIn(world, set?.id ?? "");
  expect([stopped.applied, stopped.conflicts.map(({ path }) => path)]).toEqual([[], ["both.txt"]]);
  expect(readFileSync(join(world.directory, "both.txt"), "utf8")).toBe("user\n");
});

it("Where one side has a folder and the other a file, a refresh keeps the agent's and names the directory's", async () => {
  const { copy, directory, refresh } = await openFilledPlace({
    "to-file/a.txt": "1\n",
    "removed/a.txt": "1\n",
    "worked/a.txt": "1\n",
  });
  rmSync(join(copy, "to-file"), { recursive: true });
  rmSync(join(copy, "removed"), { recursive: true });
  writeFiles(copy, { "to-file": "agent\n", "worked/b.txt": "agent\n" });
  rmSync(join(directory, "worked"), { recursive: true });
  writeFiles(directory, { "to-file/b.txt": "user\n", "removed/b.txt": "user\n", worked: "user\n" });

  const { refreshed } = await refresh();

  expect(showTree(copy)).toEqual({
    "removed/": "",
    "removed/b.txt": "user\n",
    "to-file": "agent\n",
    "worked/": "",
    "worked/b.txt": "agent\n",
  });
  expect(refreshed).toMatchObject({
    taken: { paths: ["worked/a.txt", "removed/b.txt"] },
    kept: { paths: ["worked/b.txt", "to-file/b.txt", "worked"] },
  });
});

it("What was applied before a refresh is not collected after it", async () => {
  const world = await openFilledPlace({ "a.txt": "1\n", "b.txt": "1\n" });
  writeFiles(world.copy, { "a.txt": "agent\n" });
  await applyIn(world, (await world.collect())?.id ?? "");
  writeFiles(world.directory, { "a.txt": "agent and user\n" });

  expect((await world.refresh()).refreshed).toMatchObject({ taken: { paths: ["a.txt"] }, kept: { count: 0 } });

  writeFiles(world.copy, { "b.txt": "agent\n" });
  const set = await world.collect();
  if (set === undefined) throw new Error("There are no changes.");
  expect(set.set.changes.map(({ path }) => path)).toEqual(["b.txt"]);
  const base = await world.copies.bases.load(SESSION);
  expect(await reviewSet(set, { sets: world.sets, base })).toMatchObject({ drift: { count: 0, isWhole: true } });
});

it("A refresh that is interrupted is done by the next turn, without asking, and loses nothing", async () => {
  const { copies, copy, directory, turn, volume } = await openFilledPlace({ "a.txt": "1\n", "b.txt": "1\n" });
  writeFiles(copy, { "a.txt": "agent\n" });
  writeFiles(directory, { "b.txt": "user\n" });
  const failing = { ...volume, fill: () => clear(copy).then(() => Promise.reject(new Error("The engine went away."))) };

  await expect(copies.prepare(failing, { ...turn, refresh: true })).rejects.toThrow("went away");
  const report = await copies.prepare(volume, turn);

  expect(showTree(copy)).toEqual({ "a.txt": "agent\n", "b.txt": "user\n" });
  expect(report.refreshed?.taken.paths).toEqual(["b.txt"]);
  expect((await copies.prepare(volume, turn)).refreshed).toBeUndefined();
});

it("A refresh that is interrupted cannot be done without the set that has the agent's work, and says so", async () => {
  const { copies, copy, refresh, sets, turn, volume } = await openFilledPlace({ "a.txt": "1\n" });
  writeFiles(copy, { "a.txt": "agent\n" });
  const failing = { ...volume, fill: () => Promise.reject(new Error("The engine went away.")) };
  await expect(copies.prepare(failing, { ...turn, refresh: true })).rejects.toThrow("went away");
  await sets.archive.remove((await sets.list()).map(({ id }) => id));

  await expect(refresh()).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringContaining("no longer kept"),
  });
});

it("A file of a refreshed copy is never taken for the directory's by its size", async () => {
  const { copies, copy, turn, volume } = await openFilledPlace({ "a.txt": "1\n" });
  const taken: unknown[] = [];
  const asked: WorkspaceCopy = {
    ...volume,
    read(options) {
      taken.push(options?.take?.({ path: "a.txt", kind: "file", mode: 0o644, size: 2 }));
      return volume.read();
    },
  };
  await copies.collect(asked, turn);
  writeFiles(copy, { "a.txt": "2\n" });

  await copies.prepare(volume, { ...turn, refresh: true });
  await copies.collect(asked, turn);

  expect(taken).toEqual([true, undefined]);
});

it("A refresh is refused before it touches a copy whose work no change set can keep", async () => {
  const { copy, refresh } = await openFilledPlace({ "a.txt": "1\n", ".git/HEAD": "" });
  writeFiles(copy, { ".git/objects/ab/cdef": "a commit" });
  const before = showTree(copy);

  await expect(refresh()).rejects.toMatchObject({
    code: "INPUT_INVALID",
    message: expect.stringContaining("git's own folders"),
  });

  expect(showTree(copy)).toEqual(before);
});

it("A refresh is refused before it touches a copy if an object that it needs is damaged, and mends one that was cut off", async () => {
  const { copies, copy, refresh, stateDir } = await openFilledPlace({ "a.txt": "1\n" });
  writeFiles(copy, { "a.txt": "agent\n" });
  const damage = (text: string): void => {
    const digest = createHash("sha256").update("agent\n").digest("hex");
    writeFiles(join(stateDir, "objects"), { [digest]: text });
  };

  damage("AGENT\n");
  await expect(refresh()).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  expect(showTree(copy)).toEqual({ "a.txt": "agent\n" });
  expect((await copies.bases.load(SESSION))?.refreshing).toBeUndefined();

  damage("age");
  await refresh();
  expect(showTree(copy)).toEqual({ "a.txt": "agent\n" });
});
