import {
  TOKEN_FIGURES,
  type Cost,
  type TokenFigures,
  type Usage,
  type UsageReport,
  type UsageTotals,
} from "../usage.ts";

type Counted = { readonly usage: Usage | undefined; readonly totals: UsageTotals };

/**
 * Turns the totals in a report into the cost of one attempt, and returns the session's totals for the next one. A total that went back began
 * anew. Without earlier totals, a report's own are only remembered.
 */
export function subtractTotals({ sessionCost, ...own }: UsageReport, earlier: UsageTotals | undefined): Counted {
  const tokens = pickTokens(own);
  const isThread = own.basis === "thread";
  const since = isThread ? earlier && subtractTokens(tokens, earlier) : tokens;
  const cost = earlier && sessionCost && subtractCost(sessionCost, earlier.sessionCost);
  const { basis, ...rest } = { ...own, ...NO_TOKENS, ...since, cost };
  return {
    usage: keepKnown({ ...(since === undefined ? {} : { basis }), ...rest }),
    totals: { ...earlier, ...(isThread ? tokens : {}), ...(sessionCost === undefined ? {} : { sessionCost }) },
  };
}

/** Adds the cost of an attempt to that of an earlier one. The later one's model, context and last request are the turn's. */
export function addUsage(earlier: Usage | undefined, later: Usage | undefined): Usage | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  const tokens = addTokens(earlier, later);
  return keepKnown({
    ...earlier,
    ...later,
    ...tokens,
    credits: addKnown(earlier.credits, later.credits),
    cost: addCost(earlier.cost, later.cost),
  });
}

const NO_TOKENS: TokenFigures = Object.fromEntries(TOKEN_FIGURES.map((name) => [name, undefined]));

function pickTokens(given: TokenFigures): TokenFigures {
  return Object.fromEntries(
    TOKEN_FIGURES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  ) as TokenFigures;
}

/** Subtracts each known figure. */
function subtractTokens(tokens: TokenFigures, earlier: TokenFigures): TokenFigures {
  const known = TOKEN_FIGURES.flatMap((name) => {
    const total = tokens[name];
    return total === undefined ? [] : [[name, total - (earlier[name] ?? 0)] as const];
  });
  return known.some(([, difference]) => difference < 0) ? tokens : Object.fromEntries(known);
}

function subtractCost(total: Cost, earlier: Cost | undefined): Cost {
  if (earlier?.currency !== total.currency || earlier.amount > total.amount) return total;
  return { ...total, amount: round(total.amount - earlier.amount) };
}

/** Adds figures of the same basis. Those of a last request stand for themselves. */
function addTokens(earlier: Usage, later: Usage): TokenFigures & Pick<Usage, "basis"> {
  const hasTokens = TOKEN_FIGURES.some((name) => later[name] !== undefined);
  if (!hasTokens) return { basis: earlier.basis, ...pickTokens(earlier) };
  if (earlier.basis !== later.basis || later.basis === undefined || later.basis === "request") {
    return { basis: later.basis, ...NO_TOKENS, ...pickTokens(later) };
  }
  const sums = TOKEN_FIGURES.map((name) => [name, addKnown(earlier[name], later[name])]);
  return { basis: later.basis, ...(Object.fromEntries(sums) as TokenFigures) };
}

function addCost(earlier: Cost | undefined, later: Cost | undefined): Cost | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  if (earlier.currency !== later.currency) return later;
  return { ...later, amount: round(earlier.amount + later.amount) };
}

function addKnown(earlier: number | undefined, later: number | undefined): number | undefined {
  return earlier === undefined || later === undefined ? (later ?? earlier) : round(earlier + later);
}

/** Removes the error of a floating-point sum. */
function round(sum: number): number {
  return Number(sum.toFixed(9));
}

/** Leaves out unknown figures; `undefined` if none is known. */
function keepKnown(usage: Usage): Usage | undefined {
  const known = Object.entries(usage).filter(([, value]) => value !== undefined);
  const figures = known.filter(([name]) => name !== "basis" && name !== "model");
  return figures.length === 0 ? undefined : Object.fromEntries(known);
}
