import { expect, it } from "vitest";
import { age, ago } from "../../src/terminal/ago.ts";

it.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [300_000, "5 m"],
  [7_200_000, "2 h"],
  [3 * 86_400_000, "3 d"],
  [-5, "0 s"],
])("A moment %i ms ago is %j old", (passedMs, text) => {
  expect(age(1_000_000 - passedMs, 1_000_000)).toBe(text);
  expect(ago(1_000_000 - passedMs, 1_000_000)).toBe(`${text} ago`);
});
