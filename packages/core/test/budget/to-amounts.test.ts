import { expect, it } from "vitest";
import { toAmounts } from "../../src/budget/to-amounts.ts";

it.each([
  ["no report", undefined, {}],
  [
    "tokens of a turn, without those from a cache",
    { basis: "turn", inputTokens: 10, cachedTokens: 900, outputTokens: 5 },
    { tokens: 15 },
  ],
  [
    "tokens of a thread of which only the sum is known",
    { basis: "thread", totalTokens: 20, cachedTokens: 5 },
    { tokens: 15 },
  ],
  ["tokens of the last request alone", { basis: "request", inputTokens: 10, outputTokens: 5 }, {}],
  ["tokens without a basis", { inputTokens: 10 }, {}],
  ["credits and a cost", { credits: 0.5, cost: { amount: 2, currency: "usd" } }, { credits: 0.5, USD: 2 }],
] as const)("The amounts of %s are those that are known", (_, usage, expected) => {
  expect(toAmounts(usage)).toEqual(expected);
});
