import type { Usage } from "@budgie/core/runs";
import type { Row } from "../database/sqlite.ts";

/** The columns of the cost of a turn, besides that of the cost in money. */
const COLUMNS = {
  basis: "basis",
  model: "model",
  credits: "credits",
  inputTokens: "input_tokens",
  cachedTokens: "cached_tokens",
  outputTokens: "output_tokens",
  thoughtTokens: "thought_tokens",
  totalTokens: "total_tokens",
  contextUsed: "context_used",
  contextSize: "context_size",
} as const satisfies Partial<Record<keyof Usage, string>>;

type Figure = keyof typeof COLUMNS;

const FIGURES = Object.entries(COLUMNS) as readonly (readonly [Figure, string])[];

/** Creates the columns of the cost of a turn. */
export function toUsageRow(usage: Usage = {}): Row {
  return {
    ...Object.fromEntries(FIGURES.map(([name, column]) => [column, usage[name] ?? null])),
    cost: usage.cost?.amount ?? null,
    currency: usage.cost?.currency ?? null,
  };
}

/** Parses the cost of a turn; `undefined` if no figure is known. */
export function parseUsage(row: Row): Usage | undefined {
  const known = FIGURES.flatMap(([name, column]) => (row[column] === null ? [] : [[name, row[column]] as const]));
  const { cost: amount, currency } = row;
  const cost = typeof amount === "number" ? { cost: { amount, currency: String(currency) } } : {};
  const usage: Usage = { ...Object.fromEntries(known), ...cost };
  return Object.keys(usage).length === 0 ? undefined : usage;
}
