import { formatCount } from "@budgie/core/text";
import type { Usage } from "@budgie/core/runs";

/** Returns the cost of a turn in one line; `undefined` if nothing is known. Its program chose model and currency. */
export function formatUsage(usage: Usage | undefined): string | undefined {
  if (usage === undefined) return undefined;
  const { contextSize, contextUsed, cost, credits, model } = usage;
  const tokens = listTokens(usage);
  const parts = [
    ...(credits === undefined ? [] : [`${credits} credits`]),
    ...(cost === undefined ? [] : [`${cost.amount} ${cost.currency}`]),
    ...(tokens.length === 0 ? [] : [`tokens ${tokens.join(", ")}${BASES[usage.basis ?? "unknown"]}`]),
    ...(contextUsed === undefined ? [] : [`context ${formatContext(contextUsed, contextSize)}`]),
    ...(model === undefined ? [] : [`model ${model}`]),
  ];
  return parts.join("; ");
}

/** The basis of the tokens, where they are not those of the turn. */
const BASES = {
  turn: "",
  thread: "",
  request: " of the last request alone",
  unknown: ", perhaps not of this turn alone",
};

function listTokens(usage: Usage): readonly string[] {
  const { cachedTokens, inputTokens, outputTokens, thoughtTokens, totalTokens } = usage;
  const named = [
    [inputTokens, "in"],
    [cachedTokens, "cached"],
    [outputTokens, "out"],
    [thoughtTokens, "of them thoughts"],
    [totalTokens, "in all"],
  ] as const;
  return named.flatMap(([count, name]) => (count === undefined ? [] : [`${formatCount(count)} ${name}`]));
}

function formatContext(used: number, size: number | undefined): string {
  return size === undefined ? formatCount(used) : `${formatCount(used)} of ${formatCount(size)}`;
}
