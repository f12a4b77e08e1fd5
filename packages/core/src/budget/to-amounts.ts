import type { Usage } from "../usage.ts";
import type { Amounts } from "./budget.ts";

/** Returns the amounts of a turn's cost that are known. Tokens whose basis is not the whole turn would be too few or too many, and are left out. */
export function toAmounts(usage: Usage | undefined): Amounts {
  if (usage === undefined) return {};
  const { basis, cost, credits } = usage;
  const tokens = basis === "turn" || basis === "thread" ? countTokens(usage) : undefined;
  return {
    ...(tokens === undefined ? {} : { tokens }),
    ...(credits === undefined ? {} : { credits }),
    ...(cost === undefined ? {} : { [cost.currency.toUpperCase()]: cost.amount }),
  };
}

/** Counts the tokens that a model read anew and wrote: those from its provider's cache cost a fraction, and are most of all. */
function countTokens({ cachedTokens, inputTokens, outputTokens, totalTokens }: Usage): number | undefined {
  if (inputTokens !== undefined || outputTokens !== undefined) return (inputTokens ?? 0) + (outputTokens ?? 0);
  return totalTokens === undefined ? undefined : Math.max(totalTokens - (cachedTokens ?? 0), 0);
}
