import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { toDurationText } from "@budgie/core";
import type { ClientRun } from "./client-run.ts";
import { toProgressText } from "../calls/progress-text.ts";
import { toAgent, toEnd, toRunFacts } from "./run-facts.ts";

/** What the tools for long calls are called for this client. */
export type LongCallNames = { readonly wait: string; readonly status: string; readonly cancel: string };

type RunningOptions = { readonly names: LongCallNames; readonly deadlineMs: number };

/** The result of a call whose agent has not finished in time: where it is, and how to get its answer. */
export function toRunningResult(run: ClientRun, { deadlineMs, names }: RunningOptions): CallToolResult {
  return {
    content: [
      {
        type: "text",
        text:
          `This is no answer yet: the agent has not finished (${toPlaceText(run)}). To get its answer, call ${names.wait} with ` +
          `runId "${run.runId}": it answers when the agent has, and after ${toDurationText(deadlineMs)} at the latest; as long ` +
          `as it says that the agent has not finished, call it again. Do not ask the agent for the same once more. ` +
          `${names.status} tells where it is, and ${names.cancel} stops it.`,
      },
    ],
    structuredContent: toRunFacts(run),
  };
}

/** The result of a cancellation that the engine or the agent has not obeyed yet. */
export function toStoppingResult(run: ClientRun, { names }: { readonly names: LongCallNames }): CallToolResult {
  const text = `The run "${run.runId}" is being stopped, and is not over yet. ${names.wait} tells what became of it.`;
  return { content: [{ type: "text", text }], structuredContent: { ...toRunFacts(run), stopping: true } };
}

/** The result of a cancellation: nothing of the turn runs any more, and what there is to know of it, such as changed files. */
export function toCancelledResult(run: ClientRun, { content, structuredContent = {} }: CallToolResult): CallToolResult {
  const { code: _, message: __, ...facts } = structuredContent;
  const text = `The run "${run.runId}" was stopped, and nothing of it runs any more.`;
  return {
    content: [{ type: "text", text }, ...content],
    structuredContent: { status: "cancelled", runId: run.runId, agent: toAgent(run), ...facts },
  };
}

/** Where runs are. */
export function toStatusResult(
  runs: readonly ClientRun[],
  { names }: { readonly names: LongCallNames },
): CallToolResult {
  const lines = runs.map((run) => `${run.runId}  ${toPlaceText(run)}`);
  const hint = runs.some(isOver) ? `\n\n${names.wait} gives the result of one that is over.` : "";
  const text = lines.length === 0 ? "Nothing runs for you, and no result is kept." : lines.join("\n") + hint;
  return { content: [{ type: "text", text }], structuredContent: { runs: runs.map(toRunFacts) } };
}

function toPlaceText(run: ClientRun): string {
  const outcome = run.outcome();
  if (outcome !== undefined) return `${toAgent(run)}: ${outcome.isError === true ? toEnd(outcome) : "finished"}`;
  const place = run.place();
  return place === undefined ? `${toAgent(run)}: not begun` : toProgressText(place);
}

function isOver(run: ClientRun): boolean {
  return run.outcome() !== undefined;
}
