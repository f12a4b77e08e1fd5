import { expect, it } from "vitest";
import { createByteBudget } from "../../src/bounds/byte-budget.ts";

it("A budget bounds what one party has pending, and the whole what all have", () => {
  const whole = createByteBudget(10);
  const [one, other] = [createByteBudget(8, whole), createByteBudget(8, whole)];

  expect(one.tryTake(8)).toBe(true);
  expect(one.tryTake(1)).toBe(false);
  expect(other.tryTake(3)).toBe(false);
  expect(other.tryTake(2)).toBe(true);
  one.giveBack(8);
  expect(other.tryTake(6)).toBe(true);
  expect(one.tryTake(3)).toBe(false);

  other.end();
  other.giveBack(8);
  expect(one.tryTake(8)).toBe(true);
  expect(one.tryTake(1)).toBe(false);
  expect(other.tryTake(1)).toBe(false);
});
