import { describe, expect, it } from "vitest";
import { parseAmounts } from "../../src/budget/parse-amounts.ts";

describe("parseAmounts", () => {
  it.each([
    ["2 credits", { credits: 2 }],
    ["1 credit", { credits: 1 }],
    ["0.50 USD", { USD: 0.5 }],
    ["1.5 EUR,100000 tokens, 5minutes", { EUR: 1.5, tokens: 100_000, minutes: 5 }],
    ["0 turns", { turns: 0 }],
  ])("reads %j", (text, expected) => {
    expect(parseAmounts(text, "the budget", "INPUT_INVALID")).toEqual(expected);
  });

  it.each([
    "",
    "2",
    "credits",
    "-1 credits",
    "1e3 tokens",
    "2 USDs",
    "2 dollars",
    "1 credit, 2 credits",
    "1 credit,",
    "1 A".repeat(99),
  ])("refuses %j", (text) => {
    expect(() => parseAmounts(text, 'the argument "budget"', "INPUT_INVALID")).toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message: expect.stringMatching(/^Expected the argument "budget" to be/),
      }),
    );
  });
});
