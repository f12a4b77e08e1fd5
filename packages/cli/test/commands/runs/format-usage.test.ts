import { expect, it } from "vitest";
import type { Usage } from "@budgie/core/runs";
import { formatUsage } from "../../../src/commands/runs/format-usage.ts";

it.each<readonly [Usage | undefined, string | undefined]>([
  [undefined, undefined],
  [{ credits: 0.07, model: "auto" }, "0.07 credits; model auto"],
  [
    {
      basis: "turn",
      inputTokens: 1200,
      cachedTokens: 90_000,
      outputTokens: 70,
      thoughtTokens: 20,
      totalTokens: 91_270,
    },
    "tokens 1,200 in, 90,000 cached, 70 out, 20 of them thoughts, 91,270 in all",
  ],
  [
    { basis: "request", totalTokens: 15, contextUsed: 15, contextSize: 258_400 },
    "tokens 15 in all of the last request alone; context 15 of 258,400",
  ],
  [
    { totalTokens: 15, cost: { amount: 0.25, currency: "USD" }, contextUsed: 3 },
    "0.25 USD; tokens 15 in all, perhaps not of this turn alone; context 3",
  ],
])("the cost of a turn %j is written %s", (usage, text) => {
  expect(formatUsage(usage)).toBe(text);
});
