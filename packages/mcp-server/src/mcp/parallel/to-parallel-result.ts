import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { BudgieError, Reply } from "@budgie/core";
import { shorten } from "../tools/fit-description.ts";
import { formatNames } from "../calls/remark-copy.ts";
import { toErrorResult, toReplyResult } from "../calls/to-reply-result.ts";

/** The outcome of one agent of a parallel call. */
export type AgentResult = {
  readonly agent: string;
  readonly runId: string;
} & (
  | { readonly reply: Reply; readonly error?: undefined }
  | { readonly reply?: undefined; readonly error: BudgieError }
);

/** The paths that more than one change set changes, each in its own way. */
export type FoundOverlaps = {
  /** The first ones, with unseen characters escaped */
  readonly overlaps: readonly { readonly path: string; readonly changeIds: readonly string[] }[];
  /** The number of further ones */
  readonly more: number;
};

// Clients truncate what they display at about this length.
const LONGEST_BYTES = 100_000;

/** Returns the result of a parallel call: those of its agents in order. It is an error if all of them failed. */
export function toParallelResult(results: readonly AgentResult[], found?: FoundOverlaps): CallToolResult {
  const room = Math.floor(LONGEST_BYTES / results.length);
  const own = results.map((result) => toOwnResult(result, room));
  const failed = results.flatMap(({ error }) => error ?? []);
  const [first] = failed;
  const isFailed = first !== undefined && failed.length === results.length;
  const { more = 0, overlaps = [] } = found ?? {};
  return {
    ...(isFailed ? { isError: true } : {}),
    content: [
      ...own.flatMap(({ content }, index) => frame(content, { result: results[index], at: index + 1, of: own.length })),
      { type: "text", text: formatEnd(results, found) },
    ],
    structuredContent: {
      ...(isFailed ? { code: first.code, message: `All ${results.length} agents failed.` } : {}),
      results: own.map(({ structuredContent }, index) => {
        const { agent, error, runId } = results[index] ?? {};
        return { agent, runId, ...(error === undefined ? {} : { status: "failed" }), ...structuredContent };
      }),
      ...(overlaps.length === 0 ? {} : { overlaps }),
      ...(more === 0 ? {} : { moreOverlaps: more }),
    },
  };
}

/** Returns the result that the agent's own tool would have given, with no more of the answer than there is room for. */
function toOwnResult({ error, reply, runId }: AgentResult, room: number): CallToolResult {
  if (reply !== undefined) {
    const { response, warnings } = reply;
    if (Buffer.byteLength(response) <= room) return toReplyResult(reply);
    const cut = `The answer is cut: "budgie runs show ${runId}" prints all of it.`;
    return toReplyResult({ ...reply, response: shorten(response, room), warnings: [...warnings, cut] });
  }
  const { response } = error.report;
  if (response !== undefined) error.report = { ...error.report, response: shorten(response, room) };
  return toErrorResult(error);
}

type Framed = { readonly result: AgentResult | undefined; readonly at: number; readonly of: number };

/** Puts a result between lines that no agent can forge, since none knows its run id. */
function frame(content: CallToolResult["content"], { at, of, result }: Framed): CallToolResult["content"] {
  const { agent = "", runId = "" } = result ?? {};
  const begin = `[budgie: result ${at} of ${of}, of ${formatNames([agent])}. It ends at "end of ${runId}".]\n\n`;
  return [{ type: "text", text: begin }, ...content, { type: "text", text: `\n\n[budgie: end of ${runId}]\n\n` }];
}

function formatEnd(results: readonly AgentResult[], found: FoundOverlaps | undefined): string {
  const answered = results.filter(({ reply }) => reply !== undefined).length;
  const counts = `[budgie] Of ${results.length} agents, ${answered} answered and ${results.length - answered} failed.`;
  if (found === undefined || found.overlaps.length === 0) return counts;
  const places = new Map(results.map(({ error, reply }, index) => [findChangeId(reply ?? error?.report), index + 1]));
  const paths = found.overlaps.map(({ changeIds, path }) => {
    return `${formatNames([path])} (${changeIds.map((id) => places.get(id)).join(", ")})`;
  });
  const more = found.more === 0 ? "" : ` and ${found.more} more`;
  return (
    `${counts}\n[budgie] More than one of them changed these paths, each in its own way, so that only one version can be applied: ` +
    `${paths.join(", ")}${more}.`
  );
}

function findChangeId(report: Pick<Reply, "copy"> | BudgieError["report"] | undefined): string | undefined {
  return report?.copy?.changes?.changeId;
}
