import type { TurnProgress } from "@budgie/core/protocol";
import { formatDuration } from "@budgie/core/text";
import { formatProgress } from "../calls/progress.ts";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { ClientRun } from "./client-run.ts";

/** The names of the tools for long calls. */
export type LongCallNames = { readonly wait: string; readonly status: string; readonly cancel: string };

type RunningOptions = { readonly names: LongCallNames; readonly deadlineMs: number };

/** Returns the result of a call whose deadline came first: its progress, and how to get its answer. */
export function toRunningResult(run: ClientRun, { deadlineMs, names }: RunningOptions): CallToolResult {
  return {
    content: [
      {
        type: "text",
        text:
          `This is no answer yet: the agent has not finished (${formatPlace(run)}). To get its answer, call ${names.wait} with ` +
          `runId "${run.runId}": it answers when the agent has, and after ${formatDuration(deadlineMs)} at the latest; as long ` +
          `as it says that the agent has not finished, call it again. Do not ask the agent for the same once more. ` +
          `${names.status} tells where it is, and ${names.cancel} stops it.`,
      },
    ],
    structuredContent: toRunFacts(run),
  };
}

/** Returns the result of a cancellation that has not taken effect yet. */
export function toStoppingResult(run: ClientRun, { names }: { readonly names: LongCallNames }): CallToolResult {
  const text = `The run "${run.runId}" is being stopped, and has not ended yet. ${names.wait} gives its outcome.`;
  return { content: [{ type: "text", text }], structuredContent: { ...toRunFacts(run), stopping: true } };
}

/** Returns the result of a completed cancellation, with facts about the turn such as changed files. */
export function toCancelledResult(run: ClientRun, { content, structuredContent = {} }: CallToolResult): CallToolResult {
  const { code: _, message: __, ...facts } = structuredContent;
  const text = `The run "${run.runId}" was stopped, and nothing of it runs any more.`;
  return {
    content: [{ type: "text", text }, ...content],
    structuredContent: { status: "cancelled", runId: run.runId, agent: agentOf(run), ...facts },
  };
}

/** Returns the result of `status`. */
export function toStatusResult(
  runs: readonly ClientRun[],
  { names }: { readonly names: LongCallNames },
): CallToolResult {
  const lines = runs.map((run) => `${run.runId}  ${formatPlace(run)}`);
  const hint = runs.some(isEnded) ? `\n\n${names.wait} gives the result of one that has ended.` : "";
  const text = lines.length === 0 ? "Nothing runs for you, and no result is kept." : lines.join("\n") + hint;
  return { content: [{ type: "text", text }], structuredContent: { runs: runs.map(toRunFacts) } };
}

function formatPlace(run: ClientRun): string {
  const outcome = run.outcome();
  if (outcome !== undefined) return `${agentOf(run)}: ${outcome.isError === true ? findEnd(outcome) : "finished"}`;
  const place = run.place();
  return place === undefined ? `${agentOf(run)}: not begun` : formatProgress(place);
}

function isEnded(run: ClientRun): boolean {
  return run.outcome() !== undefined;
}

/** Returns the structured content for a run: its progress or its outcome. */
function toRunFacts(run: ClientRun): Record<string, unknown> {
  const place = run.place();
  const session = place?.sessionId === undefined ? {} : { sessionId: place.sessionId };
  const known = { runId: run.runId, agent: agentOf(run), ...session };
  const outcome = run.outcome();
  if (outcome?.isError === true)
    return { ...known, status: findEnd(outcome), code: outcome.structuredContent?.["code"] };
  if (outcome !== undefined) return { ...known, status: "done" };
  return { ...known, status: "running", elapsedMs: ageMs(run.beganMs), ...(place && toPlaceFacts(place)) };
}

/** Returns the outcome of a run without an answer. */
export function findEnd({ structuredContent }: CallToolResult): "cancelled" | "failed" {
  return structuredContent?.["code"] === "CANCELLED" ? "cancelled" : "failed";
}

/** Returns the agent of a run, or the tool before the first progress. */
function agentOf(run: ClientRun): string {
  return run.place()?.agent ?? run.tool;
}

function toPlaceFacts(place: TurnProgress): Record<string, unknown> {
  const known = { phase: place.phase, phaseMs: ageMs(place.sinceMs) };
  switch (place.phase) {
    case "waiting":
      return { ...known, position: place.position };
    case "starting":
      return known;
    case "running":
      return { ...known, tries: place.attempt };
  }
}

function ageMs(sinceMs: number): number {
  return Math.round(performance.now() - sinceMs);
}
