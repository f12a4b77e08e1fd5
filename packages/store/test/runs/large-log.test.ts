import { describe, expect, it, onTestFinished } from "vitest";
import type { RunQuery } from "@budgie/core/runs";
import { createStateDatabase } from "../../src/database/state-database.ts";
import { pruneRuns } from "../../src/runs/prune-runs.ts";
import { createFolder, edit, makeRun, open, openArchive } from "../helpers.ts";

const [FEW, MANY] = [1000, 100_000];
const KEPT = { maxAgeMs: undefined, maxBytes: 2 ** 30 };
const SESSION = "5e3b3a0c-0000-4000-8000-000000000000";

describe("a log with 100,000 runs", () => {
  it("answers and records as fast as one with 1,000", { timeout: 120_000 }, async () => {
    const [small, large] = [listWork(await fill(FEW)), listWork(await fill(MANY))];

    for (const [work, few] of Object.entries(small)) {
      const many = large[work as keyof typeof large];
      // A log is a hundred times as large.
      expect({ work, isSlow: await isSlower(many, few) }).toEqual({ work, isSlow: false });
    }
  });

  it("finds the runs of a directory and those below it, and the sessions by their beginnings", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const directories = ["/a", "/a/b", "/a/b/c", "/a/b%", "/a/b0", "/a/b-c", "/a/c", "/", undefined];
    for (const directory of directories) await log.finish(makeRun({ directory, sessionId: directory ?? "none" }));
    const archive = openArchive(stateDir);
    const find = async (directory: string) =>
      (await archive.recent({ limit: 99, directory })).map((run) => run.directory).toReversed();

    expect(await find("/a/b")).toEqual(["/a/b", "/a/b/c"]);
    expect(await find("/a/b%")).toEqual(["/a/b%"]);
    expect(await find("/")).toEqual(directories.slice(0, -1));
    expect(await find("/a/")).toEqual(directories.slice(0, -2));
    expect(await archive.sessions("/a/b%")).toEqual(["/a/b%"]);
    expect(await archive.sessions("n")).toEqual(["none"]);
    expect(await archive.sessions("no such")).toEqual([]);
  });

  it("reads no long column for a health report", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const [failed, answered] = [makeRun({ outcome: "TIMED_OUT", timedOut: true, error: "Late." }), makeRun()];
    for (const run of [failed, answered]) await log.finish(run);
    // Whoever reads them fails.
    edit(stateDir, "UPDATE runs SET egress = '{', facts = '{', others = '{', mcp = '{'");

    const outcomes = (await log.outcomes(9)).map(({ error, outcome, timedOut }) => ({ error, outcome, timedOut }));

    expect(outcomes).toEqual([
      { error: undefined, outcome: "answered", timedOut: false },
      { error: "Late.", outcome: "TIMED_OUT", timedOut: true },
    ]);
    expect(await log.outcomes(1)).toHaveLength(1);
  });
});

/** Creates a log with runs of which the tenth is of a rare agent, directory and session. */
async function fill(count: number): Promise<string> {
  const stateDir = createFolder();
  const log = open(stateDir);
  await log.finish(makeRun({ directory: "/rare", agent: "rare", sessionId: SESSION, startedMs: Date.now() }));
  log.close();
  const columns = "agent, session, isolation, owner, started, ended, outcome, prompt_bytes, retried, delivered, facts";
  edit(
    stateDir,
    `INSERT INTO runs (id, directory, ${columns})
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      SELECT printf('%08x-%d', n * 7919, n), printf('/home/ada/%d', n % 50), 'tester', printf('%08x', n / 10),
        isolation, owner, 1000 + n, 2000 + n, outcome, 5, 0, 1, facts FROM numbers, (SELECT * FROM runs WHERE number = 1);
      INSERT INTO record SELECT number, 'turn', id, NULL, 'content', 'previous', 'digest' FROM runs WHERE number > 1;
      UPDATE record_ends SET head_position = ${count} + 1`,
  );
  return stateDir;
}

type Work = () => Promise<unknown>;

/** Lists what commands and turns do with a log. */
function listWork(stateDir: string) {
  const archive = openArchive(stateDir);
  const log = open(stateDir);
  const state = createStateDatabase(stateDir);
  onTestFinished(state.close);
  const recent =
    (query: Partial<RunQuery>): Work =>
    () =>
      archive.recent({ limit: 20, ...query });
  return {
    all: recent({}),
    "of an agent": recent({ agent: "tester" }),
    "of a rare agent": recent({ agent: "rare" }),
    "of a session": recent({ sessionId: SESSION }),
    "of a directory": recent({ directory: "/rare" }),
    since: recent({ sinceMs: Date.now() - 3_600_000 }),
    "since, of a directory": recent({ directory: "/rare", sinceMs: 5 }),
    "one by its beginning": () => archive.find("00001eef-"),
    "a session by its beginning": () => archive.sessions("0000000"),
    undelivered: () => log.undelivered({ agent: "rare", sessionId: SESSION }),
    "a turn": async () => {
      const run = makeRun();
      await log.begin(run);
      await log.finish(run);
    },
    // The first round removes the turns above the limit, the next ones none.
    "a look for turns to remove": async () => pruneRuns(await state.connect(), KEPT),
  };
}

const MOST_ROUNDS = 50;

/** Returns true if the best of many rounds of work is much slower than that of other work: what else the machine does lengthens some. */
async function isSlower(work: Work, other: Work): Promise<boolean> {
  let [best, otherBest] = [Infinity, Infinity];
  for (let round = 0; round < MOST_ROUNDS; round++) {
    best = Math.min(best, await time(work));
    otherBest = Math.min(otherBest, await time(other));
    if (best <= 3 * otherBest + 1) return false;
  }
  return true;
}

async function time(work: Work): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
