import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError, toDurationText, type HealthReport, type UndeliveredAnswer, type Reply } from "@budgie/core";
import { withFlags } from "../../terminal/with-flags.ts";
import { toEgressFacts } from "./egress-text.ts";
import { toFactsText, toFailureText, toRefusedRemarks } from "./facts-text.ts";

/**
 * Returns the result of a turn: undelivered answers, the agent's exact answer and, as the last text, budgie's own facts, since many
 * clients show models only texts.
 */
export function toReplyResult(reply: Reply): CallToolResult {
  const warnings = [...reply.warnings, ...toRefusedRemarks(reply.egress)];
  const { usage, ...facts } = { ...reply, ...toEgressFacts(reply) };
  return {
    content: [...toMissedContent(reply.missed), ...toTexts([reply.response, toFactsText(reply)])],
    structuredContent: { status: "done", ...facts, ...(usage === undefined ? {} : { usage }), warnings },
  };
}

function toMissedContent(missed: readonly UndeliveredAnswer[]): CallToolResult["content"] {
  return missed.map((answer) => ({ type: "text", text: toMissedText(answer) }));
}

/** Returns the ids of the runs whose answers a result contains. */
export function toRunIds({ structuredContent = {} }: CallToolResult): readonly string[] {
  const { missed = [], runId, status } = structuredContent;
  const own = status === "done" && typeof runId === "string" ? [runId] : [];
  return [...own, ...(missed as Reply["missed"]).map((answer) => answer.runId)];
}

/** Returns the result of a health check. Its text has durations to read, and its structured content numbers. */
export function toHealthResult(report: HealthReport): CallToolResult {
  const agents = report.agents.map(({ lastError, ...health }) => ({ ...health, lastError: withFlags(lastError) }));
  const readable = agents.map(({ avgDurationMs, p50DurationMs, p95DurationMs, ...health }) => ({
    ...health,
    avgDuration: toText(avgDurationMs),
    p50Duration: toText(p50DurationMs),
    p95Duration: toText(p95DurationMs),
  }));
  const text = JSON.stringify({ ...report, agents: readable }, undefined, 2);
  return { content: [{ type: "text", text }], structuredContent: { ...report, agents } };
}

function toText(durationMs: number | undefined): string {
  return durationMs === undefined ? "" : toDurationText(durationMs);
}

/** Converts a `BudgieError` into a result that the model can act on. Rethrows any other error, which is a bug. */
export function toErrorResult(error: unknown): CallToolResult {
  if (!(error instanceof BudgieError)) throw error;
  const { code, report } = error;
  const message = withFlags(error.message);
  const { changedExecutablePaths = [], missed = [], response, warnings = [] } = report;
  const facts = {
    ...report,
    ...toEgressFacts(report),
    changedExecutablePaths: orUndefined(changedExecutablePaths),
    missed: orUndefined(missed),
    warnings: orUndefined(warnings),
  };
  // Some clients join texts without a separator.
  const begin = response === undefined ? "" : "\n\n";
  const known = Object.entries(facts).filter(([, fact]) => fact !== undefined);
  return {
    isError: true,
    content: [
      ...toMissedContent(missed),
      ...toTexts([response, `${begin}${code}: ${message}${toFailureText(report)}`]),
    ],
    structuredContent: { code, message, ...Object.fromEntries(known) },
  };
}

function toTexts(texts: readonly (string | undefined)[]): CallToolResult["content"] {
  return texts.flatMap((text) => (text === undefined ? [] : [{ type: "text", text }]));
}

function orUndefined<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items;
}

/** Returns an undelivered answer for a model. The run id marks its end, since its agent could not know and forge the id. */
function toMissedText({ response, runId, when }: UndeliveredAnswer): string {
  return [
    `[budgie: an earlier answer of this session, of ${when}, that may not have reached you. It ends at "end of ${runId}".]`,
    response,
    `[budgie: end of ${runId}]\n\n`,
  ].join("\n\n");
}
