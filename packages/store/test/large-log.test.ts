import { describe, expect, it } from "vitest";
import type { RunQuery } from "@budgie/core/runs";
import type { RunArchive } from "@budgie/store";
import { createFolder, edit, makeRun, open, openArchive } from "./helpers.ts";

const [FEW, MANY] = [1000, 100_000];
const SESSION = "5e3b3a0c-0000-4000-8000-000000000000";

describe("a log with 100,000 runs", () => {
  it("answers and records as fast as one with 1,000", { timeout: 120_000 }, async () => {
    const [small, large] = [await fill(FEW), await fill(MANY)];
    const durations = { small: await measure(small), large: await measure(large) };

    for (const [work, smallMs] of Object.entries(durations.small)) {
      const largeMs = durations.large[work as keyof typeof durations.large];
      // A log is a hundred times as large; a busy machine may take some times as long for the same.
      expect({ work, isSlow: largeMs > 10 * smallMs + 5 }).toEqual({ work, isSlow: false });
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
        isolation, owner, 1000 + n, 2000 + n, outcome, 5, 0, 1, facts FROM numbers, (SELECT * FROM runs WHERE number = 1)`,
  );
  return stateDir;
}

async function measure(stateDir: string) {
  const archive = openArchive(stateDir);
  const log = open(stateDir);
  const recent = (query: Partial<RunQuery>) => () => archive.recent({ limit: 20, ...query });
  return {
    all: await time(recent({})),
    "of an agent": await time(recent({ agent: "tester" })),
    "of a rare agent": await time(recent({ agent: "rare" })),
    "of a session": await time(recent({ sessionId: SESSION })),
    "of a directory": await time(recent({ directory: "/rare" })),
    since: await time(recent({ sinceMs: Date.now() - 3_600_000 })),
    "since, of a directory": await time(recent({ directory: "/rare", sinceMs: 5 })),
    "one by its beginning": await time(() => findFirst(archive)),
    "a session by its beginning": await time(() => archive.sessions("0000000")),
    undelivered: await time(() => log.undelivered({ agent: "rare", sessionId: SESSION })),
    "a turn": await time(async () => {
      const run = makeRun();
      await log.begin(run);
      await log.finish(run);
    }),
  };
}

function findFirst(archive: RunArchive): Promise<unknown> {
  return archive.find("00001eef-");
}

/** Returns the shortest of some durations, since other work of the machine only makes them longer. */
async function time(work: () => Promise<unknown>): Promise<number> {
  const durations: number[] = [];
  for (let round = 0; round < 5; round++) {
    const began = performance.now();
    await work();
    durations.push(performance.now() - began);
  }
  return Math.min(...durations);
}
