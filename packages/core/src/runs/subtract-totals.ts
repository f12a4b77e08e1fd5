import {
  TOKEN_FIGURES,
  type Cost,
  type TokenFigures,
  type Usage,
  type UsageReport,
  type UsageTotals,
} from "../usage.ts";
import { keepKnown, pickTokens, withoutFloatError } from "./add-usage.ts";

/**
 * Turns the totals in a report into the cost of one attempt, and returns the session's totals for the next one. A total that went back began
 * anew. Without earlier totals, a report's own are only remembered.
 */
export function subtractTotals(
  { basis, sessionCost, ...own }: UsageReport,
  earlier: UsageTotals | undefined,
): { readonly usage: Usage | undefined; readonly totals: UsageTotals } {
  const tokens = pickTokens(own);
  const isThread = basis === "thread";
  const since = isThread ? earlier && subtractTokens(tokens, earlier) : tokens;
  const cost = earlier && sessionCost && subtractCost(sessionCost, earlier.sessionCost);
  return {
    usage: keepKnown({ basis: since && basis, ...own, ...NO_TOKENS, ...since, cost }),
    totals: { ...earlier, ...(isThread ? tokens : {}), ...(sessionCost === undefined ? {} : { sessionCost }) },
  };
}

const NO_TOKENS: TokenFigures = Object.fromEntries(TOKEN_FIGURES.map((name) => [name, undefined]));

function subtractTokens(tokens: TokenFigures, earlier: TokenFigures): TokenFigures {
  const known = TOKEN_FIGURES.flatMap((name) => {
    const total = tokens[name];
    return total === undefined ? [] : [[name, total - (earlier[name] ?? 0)] as const];
  });
  return known.some(([, difference]) => difference < 0) ? tokens : Object.fromEntries(known);
}

function subtractCost(total: Cost, earlier: Cost | undefined): Cost {
  if (earlier?.currency !== total.currency || earlier.amount > total.amount) return total;
  return { ...total, amount: withoutFloatError(total.amount - earlier.amount) };
}
