import { describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import type { UsageReport, UsageTotals } from "@budgie/core/runs";
import { countUsage } from "../../../src/turn/reports/count-usage.ts";
import { createTurn } from "../../helpers/create-turn.ts";

describe("the cost of a turn", () => {
  it("is the last report of an attempt", async () => {
    expect(await usageOf([[{ credits: 1 }, { credits: 3 }]])).toEqual({ credits: 3 });
    expect(await usageOf([[]])).toBeUndefined();
  });

  it("is that of both attempts, also if both failed", async () => {
    const cost = (amount: number) => ({ sessionCost: { amount, currency: "USD" } });

    expect(
      await usageOf([
        [{ basis: "turn", credits: 0.1, inputTokens: 10, cachedTokens: 4, ...cost(0.5), contextUsed: 7 }],
        [{ basis: "turn", credits: 0.2, inputTokens: 6, outputTokens: 5, ...cost(0.75), contextUsed: 9 }],
      ]),
    ).toEqual({
      basis: "turn",
      credits: 0.3,
      inputTokens: 16,
      cachedTokens: 4,
      outputTokens: 5,
      cost: { amount: 0.75, currency: "USD" },
      contextUsed: 9,
    });
  });

  it("is the difference of the session's totals over both attempts", async () => {
    expect(await usageOf([[thread(30)], [thread(45)]], thread(20))).toEqual(thread(25));
  });

  it("has the last request of the last attempt that reported one, which is added to nothing", async () => {
    const request = (totalTokens: number) => ({ basis: "request", totalTokens }) as const;

    expect(await usageOf([[request(15)], [request(9)]])).toEqual(request(9));
    expect(await usageOf([[request(15)], [{ credits: 1 }]])).toEqual({ ...request(15), credits: 1 });
    expect(await usageOf([[request(15)], [{ basis: "turn", totalTokens: 2 }]])).toEqual({
      basis: "turn",
      totalTokens: 2,
    });
    expect(await usageOf([[{ totalTokens: 15 }], [{ totalTokens: 2 }]])).toEqual({ totalTokens: 2 });
  });

  it("leaves the session's totals to its next turn", async () => {
    const turn = await createTurn();
    const ask = countUsage();
    const tell = (total: number) => async () => {
      turn.events.emit("usage", thread(total));
      throw new BudgieError("TIMED_OUT", "x");
    };
    await ask(turn, tell(30)).catch(() => undefined);
    turn.report.usage = undefined;

    await ask(turn, tell(32)).catch(() => undefined);

    expect({ usage: turn.report.usage, totals: turn.session.totals }).toEqual({
      usage: thread(2),
      totals: { totalTokens: 32 },
    });
  });
});

function thread(totalTokens: number) {
  return { basis: "thread", totalTokens } as const;
}

/** Returns what a turn reports after attempts with these reports, of which each fails. */
async function usageOf(attempts: readonly (readonly UsageReport[])[], { totalTokens }: UsageTotals = {}) {
  const turn = await createTurn();
  turn.session.count(totalTokens === undefined ? {} : { totalTokens });
  for (const reports of attempts) {
    const failing = countUsage()(turn, async () => {
      for (const report of reports) turn.events.emit("usage", report);
      throw new BudgieError("AGENT_CRASHED", "x");
    });
    await failing.catch(() => undefined);
  }
  return turn.report.usage;
}
