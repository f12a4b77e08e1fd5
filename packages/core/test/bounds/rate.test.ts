import { expect, it } from "vitest";
import { createRate } from "../../src/bounds/rate.ts";

it("A rate gives its burst at once, and then as much as time has brought", () => {
  let time = 0;
  const rate = createRate({ perSecond: 10, burst: 3 }, () => time);
  const taken = () => [rate.tryTake(), rate.tryTake()];

  expect([...taken(), ...taken()]).toEqual([true, true, true, false]);
  time += 100;
  expect(taken()).toEqual([true, false]);
  time += 10_000;
  expect([...taken(), ...taken()]).toEqual([true, true, true, false]);
});

it("A rate says how long to wait for what was taken beyond it", () => {
  let time = 0;
  const rate = createRate({ perSecond: 10, burst: 3 }, () => time);

  expect([rate.take(3), rate.take(1), rate.take(1)]).toEqual([0, 100, 200]);
  time += 200;
  expect(rate.take(1)).toBe(100);
});
