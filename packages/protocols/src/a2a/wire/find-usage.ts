import { z } from "zod";
import type { TokenFigures } from "@budgie/core/runs";
import { toFields, type Fields } from "../http/fields.ts";

// Agents of Google's ADK, as kagent's are, add the counts of a request to their model to what they send about it.
const KEYS = ["adk_usage_metadata", "kagent_usage_metadata"];

const count = z.int().min(0).max(1e12).optional().catch(undefined);

const counts = z.object({
  promptTokenCount: count,
  cachedContentTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
  totalTokenCount: count,
});

/** Finds the tokens of a model request in the metadata of an update; `undefined` if there are none. */
export function findUsage(...metadata: readonly unknown[]): TokenFigures | undefined {
  const given = metadata.map(toFields).flatMap((fields) => KEYS.map((key) => fields[key]));
  return given.map(toTokens).find((tokens) => tokens !== undefined);
}

/** Converts Gemini's counts, whose prompt has the cached tokens, and whose candidates have no thoughts. */
function toTokens(given: unknown): TokenFigures | undefined {
  const { data } = counts.safeParse(given);
  if (data === undefined) return undefined;
  const { cachedContentTokenCount: cached, candidatesTokenCount: written, thoughtsTokenCount: thoughts } = data;
  const figures: Fields = {
    inputTokens: data.promptTokenCount && Math.max(data.promptTokenCount - (cached ?? 0), 0),
    cachedTokens: cached,
    outputTokens: written === undefined ? undefined : written + (thoughts ?? 0),
    thoughtTokens: thoughts,
    totalTokens: data.totalTokenCount,
  };
  const known = Object.entries(figures).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}
