import { expect, it } from "vitest";
import { parseBudgets } from "../../src/budget/parse-budget.ts";

it("The budgets of sections have their amounts by unit, with the currency of a cost as one", () => {
  const shared = { day: { turns: 50, credits: 10, cost: "5.25 USD" }, session: { tokens: 0 }, turn: undefined };
  const own = { turn: { minutes: 1.5 } };

  expect(parseBudgets({ all: shared, agents: new Map([["coder", own]]) })).toEqual({
    all: { day: { turns: 50, credits: 10, USD: 5.25 }, session: { tokens: 0 } },
    agents: new Map([["coder", { turn: { minutes: 1.5 } }]]),
  });
  expect(parseBudgets({ all: undefined, agents: new Map() })).toEqual({ all: undefined, agents: new Map() });
});
