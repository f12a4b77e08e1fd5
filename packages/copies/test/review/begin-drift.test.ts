import { mkdirSync, renameSync } from "node:fs";
import { expect, it } from "vitest";
import { beginDrift, reviewSet } from "@budgie/copies/review";
import { createWorld, writeFiles, type World } from "../helpers/create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n" };
const SESSION = "7b6c3f0e-4a1f-4f0c-9c53-5f6b8f1a2d3e";

function begin({ base, directory, sets, startedMs }: World) {
  return beginDrift({ sets, sessionId: SESSION, directory, base: { manifest: base, startedMs } });
}

/** Pauses an early comparison as the first entry of a copy does. Returns what the reading of the copy does. */
async function pause(early: ReturnType<typeof begin>): Promise<{ readonly end: () => Promise<unknown> }> {
  const reading = early.pauseDuring(
    (async function* () {
      yield "an entry";
    })(),
  );
  await reading.next();
  return { end: () => reading.next() };
}

it("is what a review tells, without another comparison", async () => {
  const world = createWorld(FILES);
  writeFiles(world.copy, { "a.txt": "ONE\n" });
  const stored = await world.collect();
  const early = begin(world);
  await early.finish();
  writeFiles(world.directory, { "b/c.txt": "TWO, later\n" });
  const base = { manifest: world.base, startedMs: world.startedMs };

  expect((await reviewSet(stored, { sets: world.sets, base, early })).drift.count).toBe(0);
  expect((await reviewSet(stored, { sets: world.sets, base })).drift.count).toBe(1);
});

it("pauses from the first entry of the copy on, and goes on once that is read", async () => {
  const world = createWorld(FILES);
  const early = begin(world);
  const reading = await pause(early);
  // Others that began later end meanwhile.
  for (let others = 0; others < 5; others++) await begin(world).finish();
  writeFiles(world.directory, { "b/c.txt": "TWO, later\n" });

  await reading.end();
  expect(await early.finish()).toMatchObject({ paths: ["b/c.txt"], isWhole: true });
});

it("is never made for a copy that is read at once and has no changes", async () => {
  const world = createWorld(FILES);
  let asked = 0;
  const sets: World["sets"] = { ...world.sets, advance: (...all) => (asked++, world.sets.advance(...all)) };
  const early = begin({ ...world, sets });
  early.stop();

  expect(await early.finish()).toBeUndefined();
  expect(asked).toBe(0);
});

it("has no result for a directory that is gone, or once it was stopped", async () => {
  const world = createWorld(FILES);
  const stopped = begin(world);
  await pause(stopped);
  stopped.stop();
  expect(await stopped.finish()).toBeUndefined();

  renameSync(world.directory, `${world.directory}-moved`);
  expect(await begin(world).finish()).toBeUndefined();
});

it("is not taken for another directory that is at the path by then", async () => {
  const world = createWorld(FILES);
  writeFiles(world.copy, { "a.txt": "ONE\n" });
  const early = begin(world);
  expect((await early.finish())?.paths).toEqual([]);
  renameSync(world.directory, `${world.directory}-moved`);
  mkdirSync(world.directory);
  writeFiles(world.directory, { "a.txt": "one\n" });
  const stored = await world.collect();
  const base = { manifest: world.base, startedMs: world.startedMs };

  expect((await reviewSet(stored, { sets: world.sets, base, early })).drift.paths).toEqual(["b", "b/c.txt"]);
});
