import { z } from "zod";
import type { Usage } from "@budgie/core/runs";

/** The cost of a turn, collected from its agent's reports. */
export type UsageReports = {
  /** Takes a `usage_update` of ACP, Kiro's metadata in that form, or the report with which its V3 harness completes a turn. */
  readonly add: (update: Readonly<Record<string, unknown>>) => void;
  /** Returns the latest figures, with those in the answer to the prompt; `undefined` if there are none */
  readonly toUsage: (tokens: unknown) => Usage | undefined;
};

/** Creates the cost of a turn. Discards impossible figures, since an agent chooses them. */
export function createUsageReports(): UsageReports {
  let credits: number | undefined;
  let sessionCost: Usage["sessionCost"];
  return {
    add({ _meta, cost: given, meteringUsage }) {
      sessionCost = cost.safeParse(given).data ?? sessionCost;
      const { data } = completion.safeParse(_meta);
      credits = sumCredits(meteringUsage) ?? sumCredits(data?.kiro.promptTurnSummaries) ?? credits;
    },
    toUsage(given) {
      const usage = { credits, ...parseTokens(given), sessionCost };
      const known = Object.entries(usage).filter(([, value]) => value !== undefined);
      return known.length === 0 ? undefined : Object.fromEntries(known);
    },
  };
}

const amount = z.number().min(0).max(1e12);
const cost = z.object({ amount, currency: z.string().regex(/^[A-Za-z]{1,20}$/) });
const tokens = z.int().min(0).max(1e12);
const unit = z.literal("credit");
const metered = z.union([
  z.object({ value: amount, unit }).transform(({ value }) => value),
  z.object({ usage: amount, unit }).transform(({ usage }) => usage),
]);
const completion = z.object({
  kiro: z.object({ kind: z.literal("turn_completion"), promptTurnSummaries: z.unknown() }),
});

const MOST_METERED = 100;

/** Adds up Kiro's credits. */
function sumCredits(given: unknown): number | undefined {
  const listed: readonly unknown[] = Array.isArray(given) ? given.slice(0, MOST_METERED) : [];
  const values = listed.flatMap((each) => metered.safeParse(each).data ?? []);
  if (values.length === 0) return undefined;
  // Rounding removes the error of the floating-point sum.
  return Number(values.reduce((sum, value) => sum + value, 0).toFixed(6));
}

function parseTokens(given: unknown): Pick<Usage, "inputTokens" | "outputTokens" | "totalTokens"> {
  const { inputTokens, outputTokens, totalTokens } = (given ?? {}) as Readonly<Record<string, unknown>>;
  return {
    inputTokens: tokens.safeParse(inputTokens).data,
    outputTokens: tokens.safeParse(outputTokens).data,
    totalTokens: tokens.safeParse(totalTokens).data,
  };
}
