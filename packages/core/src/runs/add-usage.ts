import { TOKEN_FIGURES, type Cost, type TokenFigures, type Usage } from "../usage.ts";

/** Adds the cost of an attempt to that of an earlier one of its turn. Model, context and a last request are those of the later one. */
export function addUsage(earlier: Usage | undefined, later: Usage | undefined): Usage | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  return keepKnown({
    ...earlier,
    ...later,
    ...chooseTokens(earlier, later),
    credits: addKnown(earlier.credits, later.credits),
    cost: addCost(earlier.cost, later.cost),
  });
}

/** Adds counts of tokens, up to the largest safe integer; one that is unknown on both sides stays unknown. */
export function addTokens(earlier: TokenFigures, later: TokenFigures): TokenFigures {
  const add = (name: keyof TokenFigures): number | undefined => {
    const sum = addKnown(earlier[name], later[name]);
    // An agent may report any number of them, and node:sqlite reads no row with a larger one.
    return sum && Math.min(sum, Number.MAX_SAFE_INTEGER);
  };
  return pickTokens(Object.fromEntries(TOKEN_FIGURES.map((name) => [name, add(name)])));
}

/** Returns the known tokens. */
export function pickTokens(given: TokenFigures): TokenFigures {
  const known = TOKEN_FIGURES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
  return Object.fromEntries(known);
}

/** Removes the error of a floating-point sum. */
export function withoutFloatError(sum: number): number {
  return Number(sum.toFixed(9));
}

/** Leaves out what is not known; `undefined` if no figure is left. */
export function keepKnown(usage: Usage): Usage | undefined {
  const known = Object.entries(usage).filter(([, value]) => value !== undefined);
  return known.some(([name]) => name !== "basis" && name !== "model") ? Object.fromEntries(known) : undefined;
}

/** Adds tokens whose basis is the same and can be summed, and returns those of one attempt otherwise. */
function chooseTokens(earlier: Usage, later: Usage): Usage {
  const [first, last] = [pickTokens(earlier), pickTokens(later)];
  if (Object.keys(last).length === 0) return { ...first, basis: earlier.basis };
  const isSummed = later.basis === earlier.basis && (later.basis === "turn" || later.basis === "thread");
  const none = Object.fromEntries(TOKEN_FIGURES.map((name) => [name, undefined]));
  return { ...none, ...(isSummed ? addTokens(first, last) : last), basis: later.basis };
}

function addCost(earlier: Cost | undefined, later: Cost | undefined): Cost | undefined {
  if (earlier?.currency !== later?.currency || earlier === undefined || later === undefined) return later ?? earlier;
  return { ...later, amount: withoutFloatError(earlier.amount + later.amount) };
}

function addKnown(earlier: number | undefined, later: number | undefined): number | undefined {
  return earlier === undefined || later === undefined ? (later ?? earlier) : withoutFloatError(earlier + later);
}
