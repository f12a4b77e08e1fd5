import { describe, expect, it } from "vitest";
import type { UsageSum } from "@budgie/store";
import { querySums } from "../../src/runs/sum-usage.ts";
import { createFolder, edit, makeRun, open, openArchive, query } from "../helpers.ts";

const USD = { amount: 0.1, currency: "USD" };
const TURN = {
  basis: "turn",
  inputTokens: 10,
  cachedTokens: 4,
  outputTokens: 5,
  thoughtTokens: 2,
  totalTokens: 19,
} as const;

describe("the sums of the run log", () => {
  it("add credits, tokens and cost by agent, and say which turns are in none of them", async () => {
    const { archive } = await remember([
      { agent: "a", usage: { credits: 0.1, cost: USD } },
      { agent: "a", usage: { credits: 0.2, cost: { amount: 2, currency: "EUR" } } },
      { agent: "a", usage: { ...TURN, cost: { amount: 0.2, currency: "USD" } } },
      { agent: "b", usage: { ...TURN, basis: "thread" } },
      { agent: "b", usage: { basis: "request", totalTokens: 1000, outputTokens: 1000 } },
      { agent: "b", usage: { inputTokens: 1000 } },
      { agent: "b", usage: { contextUsed: 7, contextSize: 10 } },
      { agent: "b", usage: undefined, outcome: "TIMED_OUT" },
      { agent: "c", usage: undefined },
    ]);
    const { basis: _, ...tokens } = TURN;

    expect(await archive.usage({ by: "agent" })).toEqual([
      sum("a", { turns: 3, credits: 0.3, ...tokens, costs: { EUR: 2, USD: 0.3 } }),
      sum("b", { turns: 5, silent: 2, apart: 2, ...tokens }),
      sum("c", { turns: 1, silent: 1 }),
    ]);
  });

  it("are there however many tokens an agent invents", async () => {
    const { archive } = await remember([9e18, 9e18].map((inputTokens) => ({ usage: { basis: "turn", inputTokens } })));

    expect(await archive.usage({ by: "agent" })).toMatchObject([{ turns: 2, inputTokens: 1.8e19 }]);
  });

  it("are by model, project or client, of which older turns have none", async () => {
    const { archive } = await remember([
      { usage: { credits: 1, model: "m1" }, directory: "/x", client: "claude-code" },
      { usage: { credits: 2, model: "m2" }, directory: "/x", client: "claude-code" },
      { usage: { credits: 4 }, directory: undefined, client: undefined },
    ]);
    const creditsBy = async (by: "client" | "model" | "project") =>
      (await archive.usage({ by })).map(({ credits, key }) => [key, credits]);

    expect(await creditsBy("model")).toEqual([
      [undefined, 4],
      ["m1", 1],
      ["m2", 2],
    ]);
    expect(await creditsBy("project")).toEqual([
      [undefined, 4],
      ["/x", 3],
    ]);
    expect(await creditsBy("client")).toEqual([
      [undefined, 4],
      ["claude-code", 3],
    ]);
  });

  it("are by local day, also of turns around midnight, and only of the asked time", async () => {
    const at = (day: number, hour: number): number => new Date(2026, 2, day, hour, 59).getTime();
    const { archive } = await remember(
      [at(27, 23), at(28, 0), at(29, 12), at(29, 23)].map((startedMs) => ({ startedMs, usage: { credits: 1 } })),
    );
    const days = (sums: readonly UsageSum[]) => sums.map(({ key, turns }) => [key, turns]);

    expect(days(await archive.usage({ by: "day" }))).toEqual([
      ["2026-03-27", 1],
      ["2026-03-28", 1],
      ["2026-03-29", 2],
    ]);
    expect(days(await archive.usage({ by: "day", sinceMs: at(29, 13) }))).toEqual([["2026-03-29", 1]]);
    expect(await archive.usage({ by: "agent", sinceMs: at(29, 0) })).toMatchObject([{ turns: 2 }]);
  });

  it("count a turn that has not ended apart", async () => {
    const { archive, log } = await remember([]);
    await log.begin(makeRun({ agent: "a" }));

    expect(await archive.usage({ by: "agent" })).toEqual([sum("a", { turns: 1, open: 1 })]);
  });

  it("are empty without a log", async () => {
    expect(await openArchive(createFolder()).usage({ by: "day" })).toEqual([]);
  });

  it("keep the nine decimals of a turn", async () => {
    const { archive } = await remember([{ usage: { credits: 1e-9 } }, { usage: { credits: 2.1 } }]);

    expect(await archive.usage({ by: "agent" })).toMatchObject([{ credits: 2.100000001 }]);
  });

  it.each(["agent", "model", "project", "client"] as const)("by %s are read from an index in its order", async (by) => {
    const { stateDir } = await remember([{ usage: TURN }]);

    const plan = query(stateDir, `EXPLAIN QUERY PLAN ${querySums(by).replace("?", "0")}`);

    const steps = plan.map((step) => (step as { readonly detail: string }).detail);
    // Only the groups are sorted, not the turns.
    expect(steps).toEqual([expect.stringMatching(/^CO-ROUTINE/), SCAN, expect.stringMatching(/^SCAN/), SORT]);
  });

  it("contain the turns that an older budgie wrote, whose tokens have no known basis", async () => {
    const stateDir = createFolder();
    edit(stateDir, OLD_LOG);

    expect(await openArchive(stateDir).usage({ by: "agent" })).toEqual([
      sum("a", { turns: 2, apart: 1, credits: 0.5 }),
      sum("b", { turns: 1, silent: 1 }),
    ]);
    expect((await openArchive(stateDir).recent({ limit: 9 })).map(({ usage }) => usage)).toEqual([
      undefined,
      { credits: 0.5 },
      { inputTokens: 7, totalTokens: 10 },
    ]);
  });
});

const SCAN = "SCAN runs USING COVERING INDEX runs_groups";
const SORT = "USE TEMP B-TREE FOR GROUP BY";

// The tables of version 7, with a cost of the session so far.
const OLD_LOG = `
  CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, session TEXT,
    isolation TEXT NOT NULL, owner TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER, outcome TEXT, exit_code INTEGER,
    exit_signal TEXT, prompt_bytes INTEGER NOT NULL, answer_bytes INTEGER, retried INTEGER NOT NULL, error TEXT, egress TEXT,
    credits REAL, delivered INTEGER NOT NULL, timed_out INTEGER NOT NULL DEFAULT 0, usage TEXT, mcp TEXT, others TEXT,
    directory TEXT, facts TEXT) STRICT;
  CREATE TABLE answers (run INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE, text TEXT NOT NULL) STRICT;
  CREATE TABLE sessions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, directory TEXT NOT NULL, isolation TEXT NOT NULL,
    begun INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL, keep_ms INTEGER, instance TEXT NOT NULL,
    owner TEXT NOT NULL, origin TEXT, workspace_path TEXT) STRICT, WITHOUT ROWID;
  INSERT INTO runs (id, agent, isolation, owner, started, ended, outcome, prompt_bytes, retried, delivered, credits, usage) VALUES
    ('1', 'a', 'none', '{}', 1, 2, 'answered', 1, 0, 1, NULL,
      '{"inputTokens":7,"totalTokens":10,"sessionCost":{"amount":0.25,"currency":"USD"}}'),
    ('2', 'a', 'none', '{}', 1, 2, 'answered', 1, 0, 1, 0.5, NULL),
    ('3', 'b', 'none', '{}', 1, 2, 'answered', 1, 0, 1, NULL, '{"sessionCost":{"amount":0.25,"currency":"USD"}}');
  PRAGMA user_version = 7`;

function sum(key: string, facts: Partial<UsageSum>): UsageSum {
  return { key, turns: 0, silent: 0, apart: 0, open: 0, costs: {}, ...facts };
}

async function remember(runs: readonly Partial<Parameters<typeof makeRun>[0]>[]) {
  const stateDir = createFolder();
  const log = open(stateDir);
  for (const run of runs) await log.finish(makeRun(run));
  return { stateDir, log, archive: openArchive(stateDir) };
}
