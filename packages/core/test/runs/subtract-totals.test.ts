import { describe, expect, it } from "vitest";
import type { UsageReport, UsageTotals } from "@budgie/core/runs";
import { subtractTotals } from "../../src/runs/subtract-totals.ts";

const USD = "USD";

describe("the totals of a session", () => {
  it("are the cost of its first turn, and become differences in the next ones", () => {
    const first = count({
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
      sessionCost: { amount: 0.1, currency: USD },
    });
    const second = count(
      {
        inputTokens: 40,
        cachedTokens: 9,
        outputTokens: 7,
        totalTokens: 56,
        sessionCost: { amount: 0.3, currency: USD },
      },
      first.totals,
    );

    expect(first.usage).toEqual({
      basis: "thread",
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
      cost: { amount: 0.1, currency: USD },
    });
    expect(second.usage).toEqual({
      basis: "thread",
      inputTokens: 30,
      cachedTokens: 9,
      outputTokens: 2,
      totalTokens: 41,
      cost: { amount: 0.2, currency: USD },
    });
  });

  it("begin anew if one went back, or the currency is another", () => {
    const earlier = { inputTokens: 100, outputTokens: 5, sessionCost: { amount: 2, currency: USD } };

    expect(count({ inputTokens: 7, outputTokens: 6, sessionCost: { amount: 1, currency: USD } }, earlier)).toEqual({
      usage: { basis: "thread", inputTokens: 7, outputTokens: 6, cost: { amount: 1, currency: USD } },
      totals: { inputTokens: 7, outputTokens: 6, sessionCost: { amount: 1, currency: USD } },
    });
    expect(count({ sessionCost: { amount: 3, currency: "EUR" } }, earlier).usage).toEqual({
      cost: { amount: 3, currency: "EUR" },
    });
  });

  it("are no turn's cost if nobody knows what came before, but the next turn's", () => {
    const first = subtractTotals(
      { basis: "thread", totalTokens: 90, sessionCost: { amount: 1, currency: USD } },
      undefined,
    );
    const second = count({ totalTokens: 100, sessionCost: { amount: 1.5, currency: USD } }, first.totals);

    expect(first.usage).toBeUndefined();
    expect(second.usage).toEqual({ basis: "thread", totalTokens: 10, cost: { amount: 0.5, currency: USD } });
  });

  it("leave figures of the turn, of a last request, and the context as they are, and remember none of them", () => {
    const own = { model: "m", credits: 0.1, contextUsed: 5, contextSize: 10 } as const;
    for (const basis of ["turn", "request", undefined] as const) {
      const { totals, usage } = subtractTotals({ basis, totalTokens: 15, ...own }, { totalTokens: 10 });

      expect({ totals, usage }).toEqual({
        totals: { totalTokens: 10 },
        usage: { ...(basis === undefined ? {} : { basis }), totalTokens: 15, ...own },
      });
    }
  });
});

function count(report: UsageReport, earlier: UsageTotals = {}) {
  return subtractTotals(
    { ...((report.inputTokens ?? report.totalTokens) ? { basis: "thread" } : {}), ...report },
    earlier,
  );
}
