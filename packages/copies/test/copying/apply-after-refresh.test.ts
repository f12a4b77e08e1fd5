import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { applyIn, showTree, writeFiles } from "../helpers/create-world.ts";
import { openFilledPlace } from "../helpers/open-filled-place.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

let now = 0;

// Each reading of the clock is later than the one before.
beforeEach(() => {
  now = Date.now();
  const clock = vi.spyOn(Date, "now").mockImplementation(() => ++now);
  onTestFinished(() => clock.mockRestore());
});

it("What is applied after a refresh is not collected after it, though its set is older", async () => {
  const world = await openFilledPlace({ "a.txt": "1\n", "b.txt": "1\n" });
  writeFiles(world.copy, { "a.txt": "agent\n" });
  const id = (await world.collect())?.id ?? "";
  await world.refresh();
  await applyIn(world, id);
  writeFiles(world.directory, { "a.txt": "agent and user\n" });
  writeFiles(world.copy, { "b.txt": "agent\n" });

  const next = await world.collect();

  expect(next?.set.changes.map(({ path }) => path)).toEqual(["b.txt"]);
  expect((await world.refresh()).refreshed?.taken.paths).toEqual(["a.txt"]);
});

it("What was applied and taken back in the directory waits again once the agent makes it again", async () => {
  const files = { "a.txt": "1\n" };
  const world = await openFilledPlace(files);
  writeFiles(world.copy, { "a.txt": "agent\n" });
  const id = (await world.collect())?.id ?? "";
  await applyIn(world, id);
  writeFiles(world.directory, files);
  await world.refresh();
  writeFiles(world.copy, { "a.txt": "agent\n" });

  expect(await world.collect()).toMatchObject({ id, state: "pending", outcome: undefined });
  expect((await world.collect())?.state).toBe("pending");

  expect((await applyIn(world, id)).state).toBe("applied");
  expect(showTree(world.directory)).toEqual({ "a.txt": "agent\n" });
  expect(await world.collect()).toBeUndefined();
});

it("A set that a turn finds again is as young as a new one", async () => {
  const world = await openFilledPlace({ "a.txt": "1\n" }, { maxAgeMs: 7 * DAY_MS, maxBytes: 1024 });
  writeFiles(world.copy, { "a.txt": "agent\n" });
  const first = await world.collect();
  now += 8 * DAY_MS;

  const again = await world.collect();

  expect(again?.id).toBe(first?.id);
  expect((again?.createdMs ?? 0) - (first?.createdMs ?? 0)).toBeGreaterThan(8 * DAY_MS);
});
