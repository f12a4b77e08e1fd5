import { addTokens, withoutFloatError } from "@budgie/core/runs";
import type { UsageSum } from "@budgie/store";

/** Adds sums of costs to one. */
export function addSums(sums: readonly UsageSum[]): UsageSum {
  return sums.reduce(add, NOTHING);
}

const NOTHING: UsageSum = { key: undefined, turns: 0, silent: 0, apart: 0, open: 0, costs: {} };

function add(sum: UsageSum, next: UsageSum): UsageSum {
  const credits =
    sum.credits === undefined && next.credits === undefined ? {} : { credits: plus(sum.credits, next.credits) };
  const costs = Object.entries(next.costs).map(([currency, cost]) => {
    // A program may invent a currency with the name of a method.
    const known = Object.hasOwn(sum.costs, currency) ? sum.costs[currency] : undefined;
    return [currency, plus(known, cost)] as const;
  });
  return {
    key: undefined,
    turns: sum.turns + next.turns,
    silent: sum.silent + next.silent,
    apart: sum.apart + next.apart,
    open: sum.open + next.open,
    ...addTokens(sum, next),
    ...credits,
    costs: { ...sum.costs, ...Object.fromEntries(costs) },
  };
}

/** Adds without the error of a floating-point sum. */
function plus(sum = 0, next = 0): number {
  return withoutFloatError(sum + next);
}
