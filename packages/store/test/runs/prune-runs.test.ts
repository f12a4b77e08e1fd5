import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { pruneRuns, type Retention } from "../../src/runs/prune-runs.ts";
import { createPruning } from "../../src/runs/pruning.ts";
import { createStateDatabase } from "../../src/database/state-database.ts";
import { ALL, createFolder, edit, makeRun, open, openArchive, toCaller } from "../helpers.ts";

const FOR_EVER: Retention = { maxAgeMs: undefined, maxBytes: undefined };
const DAY_MS = 86_400_000;

async function prune(stateDir: string, retention: Partial<Retention>): Promise<void> {
  const state = createStateDatabase(stateDir);
  pruneRuns(await state.connect(), { ...FOR_EVER, ...retention });
  state.close();
}

/** Writes runs with answers of some 10 KB each to a log, and returns the ids of those that remain. */
async function fill(stateDir: string, count: number): Promise<readonly string[]> {
  const log = open(stateDir);
  const runs = Array.from({ length: count }, () => makeRun({ answer: randomBytes(5000).toString("hex") }));
  for (const run of runs) await log.finish(run);
  log.close();
  return runs.map(({ id }) => id);
}

const sizeOf = (stateDir: string): number => statSync(join(stateDir, "runs.sqlite3")).size;

describe("pruneRuns", () => {
  it("removes old runs, with their answers", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const [old, young] = [makeRun({ startedMs: Date.now() - 31 * DAY_MS }), makeRun()];
    for (const run of [old, young]) await log.finish(run);
    log.close();

    await prune(stateDir, {});
    const before = await openArchive(stateDir).recent(ALL);
    await prune(stateDir, { maxAgeMs: 30 * DAY_MS });

    expect(before).toHaveLength(2);
    expect((await openArchive(stateDir).recent(ALL)).map(({ id }) => id)).toEqual([young.id]);
    expect((await open(stateDir).undelivered(toCaller(old))).missed).toEqual([]);
  });

  it("removes only as many of the oldest answers of a large log as necessary, and keeps their runs", async () => {
    const stateDir = createFolder();
    const ids = await fill(stateDir, 60);
    const before = sizeOf(stateDir);

    await prune(stateDir, { maxBytes: 420_000 });

    const archive = openArchive(stateDir);
    const answers = await Promise.all(ids.map(async (id) => (await archive.find(id)).answer !== undefined));
    const kept = answers.filter((isKept) => isKept).length;
    expect(answers).toEqual([...Array<boolean>(60 - kept).fill(false), ...Array<boolean>(kept).fill(true)]);
    expect(kept).toBeGreaterThanOrEqual(20);
    expect(before).toBeGreaterThan(600_000);
    expect(sizeOf(stateDir)).toBeLessThanOrEqual(420_000);
  });

  it("removes the oldest runs of a large log without answers, and never the last", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const runs = Array.from({ length: 100 }, () => makeRun({ error: "x".repeat(4000), answer: undefined }));
    for (const run of runs) await log.finish(run);
    log.close();

    await prune(stateDir, { maxBytes: 200_000 });
    const some = await openArchive(stateDir).recent(ALL);
    await prune(stateDir, { maxBytes: 1 });
    const one = await openArchive(stateDir).recent(ALL);

    expect(some.length).toBeGreaterThan(10);
    expect(some.map(({ id }) => id)).toEqual(
      runs
        .slice(-some.length)
        .toReversed()
        .map(({ id }) => id),
    );
    expect(one.map(({ id }) => id)).toEqual([runs.at(-1)?.id]);
  });

  it("keeps 100,000 runs at most", async () => {
    const stateDir = createFolder();
    const [oldest = "", ...others] = await fill(stateDir, 3);
    edit(stateDir, "PRAGMA foreign_keys = OFF; UPDATE runs SET number = number + 99998 WHERE number > 1");

    await prune(stateDir, {});

    expect((await openArchive(stateDir).recent(ALL)).map(({ id }) => id).toReversed()).toEqual(others);
    await expect(openArchive(stateDir).find(oldest)).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });
});

describe("the run log", () => {
  it("prunes itself after an answer, and not while it is delivered", async () => {
    const stateDir = createFolder();
    const log = open(stateDir, { retention: { maxAgeMs: DAY_MS, maxBytes: undefined } });
    await log.finish(makeRun({ startedMs: Date.now() - 2 * DAY_MS }));

    const before = await openArchive(stateDir).recent(ALL);
    const seen = await log.recent(ALL);
    while ((await openArchive(stateDir).recent(ALL)).length > 0) await new Promise((wake) => setTimeout(wake, 50));

    expect(before).toHaveLength(1);
    expect(seen).toEqual([]);
    log.close();
  });
});

describe("pruning", () => {
  it("creates no state directory again that was removed", async () => {
    const stateDir = join(createFolder(), "state");
    const state = createStateDatabase(stateDir);
    const connect = vi.spyOn(state, "connect");
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());

    createPruning(state, FOR_EVER).schedule();
    await vi.runAllTimersAsync();
    await Promise.allSettled(connect.mock.results.map(({ value }) => value));
    state.close();

    expect(existsSync(stateDir)).toBe(false);
  });
});

describe("a removed answer", () => {
  it("is in none of the files any more", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const secret = randomBytes(30).toString("hex");
    const run = makeRun({ answer: `${secret} ${"x".repeat(20_000)}` });
    for (const each of [makeRun(), run, makeRun()]) await log.finish(each);
    const before = contains(stateDir, secret);

    await openArchive(stateDir).remove({ ids: [run.id] });

    expect(before).toBe(true);
    expect(contains(stateDir, secret)).toBe(false);
    log.close();
  });

  it("leaves no copy behind when the database moves pages", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const toSecret = (number: number): string => `secret ${number}.`;
    const runs = Array.from({ length: 60 }, (_, number) =>
      makeRun({ answer: toSecret(number) + "x".repeat(300 + number * 17) }),
    );
    for (const run of runs) await log.begin(run);
    // Pages are split when a run that began early ends late.
    for (const index of runs.keys()) await log.finish(runs[(index * 7) % runs.length] ?? makeRun());

    await openArchive(stateDir).remove({ ids: runs.slice(1).map(({ id }) => id) });

    const numbers = [...runs.keys()];
    expect(numbers.filter((number) => contains(stateDir, toSecret(number)))).toEqual([0]);
    log.close();
  });
});

function contains(stateDir: string, text: string): boolean {
  const files = readdirSync(stateDir).filter((name) => name.startsWith("runs.sqlite3"));
  return files.some((name) => readFileSync(join(stateDir, name)).includes(text));
}
