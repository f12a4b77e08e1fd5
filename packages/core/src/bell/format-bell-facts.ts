import type { EgressDenial } from "../egress.ts";
import type { BegunRun } from "../runs/run-log.ts";
import { escapeForTerminal } from "../text/escape-for-terminal.ts";
import { formatDuration } from "../text/parse-duration.ts";
import { truncateText } from "../text/truncate-text.ts";
import type { Usage } from "../usage.ts";

/** The reason why the bell rings: a turn's end, something that a turn was refused, or a budget. */
export type BellEvent = "end" | "refusal" | "budget";

/** The facts of a turn for the user's command. Its texts may be an agent's or a caller's. */
export type BellFacts = Pick<BegunRun, "directory" | "sessionId"> & {
  readonly event: BellEvent;
  readonly runId: string;
  /** `undefined` if the call was refused before there was one */
  readonly agent: string | undefined;
  /** `answered`, or an error code; `undefined` while the turn runs */
  readonly outcome: string | undefined;
  readonly durationMs: number;
  readonly refusedHosts: readonly EgressDenial[];
  readonly refusedTools: readonly string[];
  readonly changedExecutablePaths: readonly string[];
  readonly usage: Usage | undefined;
  /** A sentence on a budget; `undefined` for other events */
  readonly message: string | undefined;
  readonly warnings: readonly string[];
};

// Half of 64 KiB, since JSON escapes quotes.
const MOST_ENTRIES = 20;
const LONGEST = { name: 200, path: 300, directory: 4096, sentence: 300 };

/**
 * Formats facts as one line of JSON of less than 64 KiB. Leaves out what is unknown, and replaces control characters. The summary has no text of
 * an agent's.
 */
export function formatBellFacts(facts: BellFacts): string {
  const { durationMs, event, outcome, refusedHosts, runId, usage } = facts;
  return JSON.stringify({
    summary: summarize(facts),
    event,
    runId,
    agent: cut(facts.agent, LONGEST.name),
    sessionId: cut(facts.sessionId, LONGEST.name),
    directory: cut(facts.directory, LONGEST.directory),
    outcome,
    durationMs: Math.round(durationMs),
    refusedHosts: refusedHosts.slice(0, MOST_ENTRIES).map(({ count, host, port, why }) => ({
      host: cut(host, LONGEST.path),
      port,
      count,
      why: cut(why, LONGEST.name),
    })),
    refusedTools: cutAll(facts.refusedTools, LONGEST.name),
    changedExecutablePaths: cutAll(facts.changedExecutablePaths, LONGEST.path),
    usage: usage && { ...usage, ...(usage.model === undefined ? {} : { model: cut(usage.model, LONGEST.name) }) },
    message: cut(facts.message, LONGEST.sentence),
    warnings: cutAll(facts.warnings, LONGEST.sentence),
  });
}

/** Returns one sentence for people, of which the user chose every word. Without quotes and backslashes, a shell script finds its end. */
function summarize({
  agent,
  changedExecutablePaths,
  durationMs,
  event,
  outcome,
  refusedHosts,
  refusedTools,
}: BellFacts) {
  const who = (cut(agent, LONGEST.name) ?? "a call").replaceAll(/["\\]/g, "'");
  const facts = [
    formatNumber(refusedHosts.length, "host", "refused"),
    formatNumber(refusedTools.length, "tool", "refused"),
    formatNumber(changedExecutablePaths.length, "executable path", "changed"),
  ];
  const state = formatState(event, outcome);
  return [`${who}: ${state} after ${formatDuration(durationMs)}`, ...facts.filter((fact) => fact !== "")].join(", ");
}

function formatState(event: BellEvent, outcome: string | undefined): string {
  if (outcome === undefined) return event === "budget" ? "told of its budget" : "still running";
  if (outcome === "answered") return "done";
  return outcome === "CANCELLED" ? "cancelled" : `${event === "refusal" ? "refused" : "failed"} (${outcome})`;
}

function formatNumber(count: number, what: string, verb: string): string {
  return count === 0 ? "" : `${count} ${what}${count === 1 ? "" : "s"} ${verb}`;
}

function cutAll(texts: readonly string[], bytes: number): readonly (string | undefined)[] {
  return texts.slice(0, MOST_ENTRIES).map((text) => cut(text, bytes));
}

function cut(text: string | undefined, bytes: number): string | undefined {
  return text === undefined ? undefined : truncateText(escapeForTerminal(text), bytes);
}
