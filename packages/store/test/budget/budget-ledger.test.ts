import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createOwner } from "@budgie/core";
import { listLimits, type Budget, type BudgetLedger, type Reserved } from "@budgie/core/budget";
import { readOwnProcess } from "@budgie/core/owners";
import { createBudgetLedger } from "../../src/budget/budget-ledger.ts";
import { createFolder, edit } from "../helpers.ts";

const NOON = new Date(2026, 10, 28, 12);
const MINUTE_MS = 60_000;
const BUDGET = { turn: { credits: 10 }, day: { credits: 10 } };

describe("fifty turns at once", () => {
  it("in two budgies on one state are no more than the limit", async () => {
    const stateDir = createFolder();
    const [one, other] = [openLedger(stateDir), openLedger(stateDir)];

    const all = await Promise.all(
      Array.from({ length: 50 }, (_, at) => begin(at % 2 === 0 ? one : other, { day: { turns: 10 } })),
    );

    expect(all.filter(({ outcome }) => outcome.spent === undefined)).toHaveLength(10);
    expect(all.at(-1)?.outcome.spent).toMatchObject({ used: 10, reserved: 10, most: 10, unit: "turns" });
  });

  it("reserve together no more credits than are left, each what one call may use", async () => {
    const ledger = openLedger(createFolder());

    const all = await Promise.all(
      Array.from({ length: 50 }, () => begin(ledger, { turn: { credits: 3 }, day: { credits: 10 } })),
    );

    expect(all.flatMap(({ outcome }) => toCaps(outcome))).toEqual([3, 3, 3, 1]);
  });
});

describe("a turn's end", () => {
  it("returns what the turn reserved and did not use", async () => {
    const ledger = openLedger(createFolder());
    const { run } = await begin(ledger, BUDGET);

    const standings = await ledger.settle(run, { turns: 1, minutes: 1, credits: 9.5 });

    expect(standings).toContainEqual(expect.objectContaining({ window: "day", used: 9.5, reserved: 0 }));
    expect(toCaps((await begin(ledger, BUDGET)).outcome)).toEqual([0.5]);
  });

  it("counts what the program did not report as what the turn reserved", async () => {
    const ledger = openLedger(createFolder());
    const budget = { turn: { credits: 4 }, day: { credits: 10 } };
    const { run } = await begin(ledger, budget);

    await ledger.settle(run, { turns: 1 });

    expect((await peek(ledger, "credits")).used).toBe(4);
  });

  it("counts nothing for a turn that did not begin", async () => {
    const ledger = openLedger(createFolder());
    const { run } = await begin(ledger, { day: { turns: 1 } });

    await ledger.settle(run, undefined);

    expect((await begin(ledger, { day: { turns: 1 } })).outcome.spent).toBeUndefined();
  });

  it("that could not be written returns what the turn reserved once another begins", async () => {
    const stateDir = createFolder();
    const ledger = openLedger(stateDir);
    const { run } = await begin(ledger, BUDGET);
    edit(stateDir, "CREATE TRIGGER full BEFORE DELETE ON budget_turns BEGIN SELECT raise(ABORT, 'full disk'); END");
    await expect(ledger.settle(run, { turns: 1, credits: 2 })).rejects.toThrow("full disk");
    edit(stateDir, "DROP TRIGGER full");

    expect(toCaps((await begin(ledger, BUDGET)).outcome)).toEqual([8]);
  });

  it("adds up tenths without an error", async () => {
    const ledger = openLedger(createFolder());
    for (let turn = 0; turn < 10; turn++) {
      const { outcome, run } = await begin(ledger, { day: { credits: 1 } });
      expect(outcome.spent).toBeUndefined();
      await ledger.settle(run, { turns: 1, credits: 0.1 });
    }

    expect((await begin(ledger, { day: { credits: 1 } })).outcome.spent).toMatchObject({ used: 1 });
  });
});

describe("a budgie that was killed between reservation and end", () => {
  it("leaves its turn counted, with what it reserved", async () => {
    const stateDir = createFolder();
    const dead = openLedger(stateDir);
    await begin(dead, { turn: { credits: 4 }, day: { credits: 10, turns: 2 } });
    await dead.die();

    const ledger = openLedger(stateDir);
    expect(toCaps((await begin(ledger, { day: { credits: 10, turns: 2 } })).outcome)).toEqual([6]);
    expect((await begin(ledger, { day: { credits: 10, turns: 2 } })).outcome.spent).toMatchObject({
      unit: "turns",
      used: 2,
      reserved: 1,
    });
  });

  it("leaves its turn counted with its time until now, but no more than it could run", async () => {
    const stateDir = createFolder();
    const dead = openLedger(stateDir);
    const young = await begin(dead, { day: { minutes: 100 } });
    const old = await begin(dead, { day: { minutes: 100 } });
    await dead.die();
    const now = Date.now();
    const times = (from: number, to: number) => `started = ${now + from * MINUTE_MS}, ends = ${now + to * MINUTE_MS}`;
    edit(stateDir, `UPDATE budget_turns SET ${times(-5, 1)} WHERE run = '${young.run}'`);
    edit(stateDir, `UPDATE budget_turns SET ${times(-500, -480)} WHERE run = '${old.run}'`);

    const ledger = openLedger(stateDir);
    await begin(ledger, { day: { turns: 9 } });

    expect((await peek(ledger, "minutes")).used).toBeCloseTo(25, 1);
  });

  it("leaves nothing of the turns of one that lives changed", async () => {
    const stateDir = createFolder();
    const [one, other] = [openLedger(stateDir), openLedger(stateDir)];
    const { run } = await begin(one, { turn: { credits: 4 }, day: { credits: 10 } });

    await begin(other, { day: { turns: 9 } });
    await one.settle(run, { credits: 1 });

    expect((await peek(other, "credits")).used).toBe(1);
  });
});

describe("a session", () => {
  it("that a killed budgie had opened is resumed with what it used", async () => {
    const stateDir = createFolder();
    const dead = openLedger(stateDir);
    const sessionId = randomUUID();
    const { run } = await begin(dead, { session: { turns: 1 } });
    await dead.bind(run, sessionId);
    await dead.die();

    const ledger = openLedger(stateDir);

    expect((await begin(ledger, { session: { turns: 1 } }, { sessionId })).outcome.spent).toMatchObject({
      period: `session ${sessionId}`,
      used: 1,
    });
    expect((await begin(ledger, { session: { turns: 1 } })).outcome.spent).toBeUndefined();
  });
});

describe("a nested call", () => {
  const budget = { turn: { turns: 3, credits: 5 }, day: { credits: 5 } };

  it("counts to the limits of the outermost call, whatever its own budgie allows", async () => {
    const stateDir = createFolder();
    const [outer, inner] = [openLedger(stateDir), openLedger(stateDir)];
    const root = await beginRoot(outer, budget);

    const [child, ...others] = [await beginIn(inner, root), await beginIn(inner, root), await beginIn(inner, root)];

    expect([child, ...others].map(({ outcome }) => outcome.spent?.unit)).toEqual([undefined, "credits", "credits"]);
    await inner.settle(child.run, { turns: 1, credits: 2 });
    const next = await beginIn(inner, root, { turn: { credits: 100 }, day: { credits: 100 } });
    expect(toCaps(next.outcome)).toEqual([3]);
    await inner.settle(next.run, { turns: 1, credits: 1 });
    expect((await beginIn(inner, root)).outcome.spent).toMatchObject({ unit: "turns", used: 3, most: 3 });
  });

  it("takes its use from what the outermost call reserved, so that it counts once", async () => {
    const stateDir = createFolder();
    const [outer, inner] = [openLedger(stateDir), openLedger(stateDir)];
    const root = await beginRoot(outer, budget);
    const child = await beginIn(inner, root);

    await inner.settle(child.run, { turns: 1, credits: 2 });
    expect(await peek(outer, "credits")).toMatchObject({ used: 5, reserved: 3 });
    await outer.settle(root.run, { turns: 1, credits: 1 });

    expect((await peek(outer, "credits")).used).toBe(3);
  });
});

it("A ledger that cannot be read lets no turn begin", async () => {
  const stateDir = createFolder();
  writeFileSync(join(stateDir, "runs.sqlite3"), "no database".repeat(1000));

  await expect(begin(openLedger(stateDir), { day: { turns: 1 } })).rejects.toMatchObject({ code: "STATE_UNUSABLE" });
});

it("The totals of past days and removed sessions are removed, each day of a budgie that runs for long", async () => {
  const stateDir = createFolder();
  const ledger = openLedger(stateDir);
  const { run } = await begin(ledger, { day: { turns: 5 }, session: { turns: 5 } });
  await ledger.bind(run, randomUUID());
  await ledger.settle(run, { turns: 1 });
  edit(stateDir, `UPDATE budget_totals SET touched = ${Date.now() - 31 * 24 * 60 * MINUTE_MS}`);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 24 * 60 * MINUTE_MS });
  onTestFinished(() => void vi.useRealTimers());

  await begin(ledger, { turn: { turns: 1 } });

  expect((await peek(ledger, "turns")).used).toBe(0);
});

type Opened = BudgetLedger & { readonly die: () => Promise<void> };

/** Opens a ledger, whose budgie dies with its lock. */
function openLedger(stateDir: string): Opened {
  const process = readOwnProcess();
  const owner = createOwner({ stateDir, process: process === undefined ? undefined : { ...process, started: "0" } });
  const ledger = createBudgetLedger({ stateDir, owner });
  onTestFinished(async () => {
    ledger.close();
    await owner.release();
  });
  return { ...ledger, die: () => owner.release() };
}

type Of = { readonly sessionId?: string; readonly rootSession?: string };

async function begin(ledger: BudgetLedger, budget: Budget, { rootSession, sessionId }: Of = {}) {
  const run = randomUUID();
  const limits = listLimits([{ scope: "all", budget }], { runId: run, sessionId, now: NOON });
  const endsMs = Date.now() + 20 * MINUTE_MS;
  return { run, outcome: await ledger.reserve({ runId: run, sessionId, rootSession, endsMs, limits }) };
}

async function beginRoot(ledger: BudgetLedger, budget: Budget) {
  const { run } = await begin(ledger, budget);
  const session = randomUUID();
  await ledger.bind(run, session);
  return { run, session };
}

function beginIn(ledger: BudgetLedger, root: { readonly session: string }, budget: Budget = {}) {
  return begin(ledger, budget, { rootSession: root.session });
}

function toCaps(outcome: Reserved): readonly number[] {
  return outcome.spent === undefined ? outcome.caps.map(({ amount }) => amount) : [];
}

/** Returns how a day's limit stands, by asking for no more than that. */
async function peek(ledger: BudgetLedger, unit: string) {
  const { outcome } = await begin(ledger, { day: { [unit]: 0 } });
  if (outcome.spent === undefined) throw new Error("A limit of 0 let a turn begin.");
  return outcome.spent;
}
