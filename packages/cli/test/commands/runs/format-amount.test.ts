import { expect, it } from "vitest";
import { formatAmount } from "../../../src/commands/runs/format-amount.ts";

it.each([
  [0, "0"],
  [0.0001, "<0.001"],
  [0.07, "0.07"],
  [1.239, "1.24"],
  [812, "812"],
  [999.94, "999.9"],
  [999.96, "1k"],
  [12_345, "12.35k"],
  [4_000_000, "4M"],
  [999_999_999, "1G"],
  [2e12, "2T"],
])("%d is written %s", (amount, text) => {
  expect(formatAmount(amount)).toBe(text);
});
