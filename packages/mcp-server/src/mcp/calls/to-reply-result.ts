import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError, type UndeliveredAnswer, type Reply } from "@budgie/core";
import type { HealthReport } from "@budgie/core/runs";
import { formatDuration } from "@budgie/core/text";
import { withFlags } from "../../config/with-flags.ts";
import { toEgressFacts } from "./format-refused.ts";
import { formatFacts, formatFailure, toEgressRemarks } from "./format-facts.ts";

/**
 * Returns the result of a turn: undelivered answers, the agent's exact answer and, as the last text, budgie's own facts, since many
 * clients show models only texts.
 */
export function toReplyResult(reply: Reply): CallToolResult {
  const warnings = [...reply.warnings, ...toEgressRemarks(reply.egress)];
  // Another client may not learn the ids of the others' runs. A warning names their agents.
  const { changedFiles, others: _, ...facts } = { ...reply, ...toEgressFacts(reply) };
  return {
    content: [...toMissedContent(reply.missed), ...toTexts([reply.response, formatFacts(reply)])],
    structuredContent: pickKnown({ status: "done", ...facts, filesChanged: changedFiles?.files, warnings }),
  };
}

/** Leaves out what is not known, and empty lists: a model reads all of it. */
function pickKnown(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isKnown = (fact: unknown): boolean => fact !== undefined && !(Array.isArray(fact) && fact.length === 0);
  return Object.fromEntries(Object.entries(facts).filter(([, fact]) => isKnown(fact)));
}

function toMissedContent(missed: readonly UndeliveredAnswer[]): CallToolResult["content"] {
  return missed.map((answer) => ({ type: "text", text: formatMissed(answer) }));
}

/** Returns the ids of the runs whose answers a result contains. */
export function listRunIds({ structuredContent = {} }: CallToolResult): readonly string[] {
  const { results } = structuredContent;
  if (Array.isArray(results)) return results.flatMap((one) => listRunIds({ content: [], structuredContent: one }));
  const { missed = [], runId, status } = structuredContent;
  const own = status === "done" && typeof runId === "string" ? [runId] : [];
  return [...own, ...(missed as Reply["missed"]).map((answer) => answer.runId)];
}

/** Returns the result of a health check. Its text has durations to read, and its structured content numbers. */
export function toHealthResult(report: HealthReport): CallToolResult {
  const agents = report.agents.map(({ lastError, ...health }) => ({ ...health, lastError: withFlags(lastError) }));
  const readable = agents.map(({ avgDurationMs, p50DurationMs, p95DurationMs, ...health }) => ({
    ...health,
    avgDuration: formatMs(avgDurationMs),
    p50Duration: formatMs(p50DurationMs),
    p95Duration: formatMs(p95DurationMs),
  }));
  const text = JSON.stringify({ ...report, agents: readable }, undefined, 2);
  return { content: [{ type: "text", text }], structuredContent: { ...report, agents } };
}

function formatMs(durationMs: number | undefined): string {
  return durationMs === undefined ? "" : formatDuration(durationMs);
}

/** Converts a `BudgieError` into a result that the model can act on. Rethrows any other error, which is a bug. */
export function toErrorResult(error: unknown): CallToolResult {
  if (!(error instanceof BudgieError)) throw error;
  const { code, report } = error;
  const message = withFlags(error.message);
  const { missed = [], response } = report;
  // Some clients join texts without a separator.
  const begin = response === undefined ? "" : "\n\n";
  return {
    isError: true,
    content: [...toMissedContent(missed), ...toTexts([response, `${begin}${code}: ${message}${formatFailure(error)}`])],
    structuredContent: pickKnown({
      code,
      message,
      ...report,
      ...toEgressFacts(report),
      changedFiles: undefined,
      filesChanged: report.changedFiles?.files,
      others: undefined,
    }),
  };
}

function toTexts(texts: readonly (string | undefined)[]): CallToolResult["content"] {
  return texts.flatMap((text) => (text === undefined ? [] : [{ type: "text", text }]));
}

/** Returns an undelivered answer for a model. The run id marks its end, since its agent could not know and forge the id. */
function formatMissed({ response, runId, when }: UndeliveredAnswer): string {
  return [
    `[budgie: an earlier answer of this session, of ${when}, that may not have reached you. It ends at "end of ${runId}".]`,
    response,
    `[budgie: end of ${runId}]\n\n`,
  ].join("\n\n");
}
