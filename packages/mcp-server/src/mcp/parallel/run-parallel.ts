import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError, type TurnRequest } from "@budgie/core";
import { TurnEvents, type TurnProgress } from "@budgie/core/protocol";
import { parseTimeout } from "@budgie/core/text";
import type { TurnHooks } from "@budgie/core/turn";
import type { ParallelInput } from "../tools/parse-tool-input.ts";
import { toParallelResult, type AgentResult, type FoundOverlaps } from "./to-parallel-result.ts";
import type { ParallelCall } from "../calls/client-tools.ts";
import { toTurnRequest } from "../calls/to-turn-request.ts";

/** Finds the paths that more than one of these change sets changes. */
export type FindOverlaps = (changeIds: readonly string[]) => Promise<FoundOverlaps>;

export type ParallelParts = ParallelCall & {
  /** Default: none are found */
  readonly findOverlaps?: FindOverlaps | undefined;
};

/** Runs several agents at once, each as a turn of its own, and returns all of their results in order. None ends because another failed. */
export async function runParallel(
  { agents, directory, timeout, workspace, ...shared }: ParallelInput,
  { findOverlaps, nameOf, newSession, runTurn }: ParallelParts,
  { events = new TurnEvents(), signal, ...hooks }: TurnHooks,
): Promise<CallToolResult> {
  const deadline = timeout === undefined || timeout === "" ? undefined : startDeadline(timeout);
  const over = new AbortController();
  const sharedBase = { over: over.signal };
  const requests = agents.map(({ agent, prompt }): TurnRequest => {
    // Without it, each works on a copy or, if it may not write at all, on the directory.
    const access = workspace === "ro" ? workspace : undefined;
    const input = { ...shared, prompt, directory, workspace: access, sessionId: newSession };
    return { ...toTurnRequest(nameOf(agent), input), sharedBase };
  });
  const tell = createTeller(events, agents.length);
  const signals = [signal, deadline].filter((one) => one !== undefined);

  async function run(request: TurnRequest, index: number): Promise<AgentResult> {
    const { agent } = request;
    const runId = randomUUID();
    const own = new TurnEvents();
    own.on("phase", (progress) => tell.place(index, progress));
    try {
      const reply = await runTurn(request, { ...hooks, runId, events: own, signal: AbortSignal.any(signals) });
      return { agent, runId, reply };
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      const isLate = error.code === "CANCELLED" && deadline?.aborted === true && signal?.aborted !== true;
      return { agent, runId, error: isLate ? lateError(error, String(timeout)) : error };
    } finally {
      tell.end(index);
    }
  }

  try {
    const settled = await Promise.allSettled(requests.map(run));
    const results = settled.map((result) => {
      // A bug of budgie's. It is thrown once nothing of the call runs any more.
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    const ids = results.flatMap(listChangeIds);
    // The answers are worth more than what may be said of them.
    const overlaps = ids.length < 2 ? undefined : await findOverlaps?.(ids).catch(() => undefined);
    return toParallelResult(results, overlaps);
  } finally {
    over.abort();
  }
}

// Node's longest timer.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function startDeadline(timeout: string): AbortSignal {
  const limitMs = parseTimeout(timeout, 'the argument "timeout"', "INPUT_INVALID");
  return AbortSignal.timeout(Math.min(limitMs, LONGEST_TIMER_MS));
}

function lateError(cause: BudgieError, timeout: string): BudgieError {
  const message = `The call's timeout of ${timeout} came before this agent had finished: ${cause.message}`;
  return new BudgieError("TIMED_OUT", message, { cause, report: cause.report });
}

function listChangeIds({ error, reply }: AgentResult): readonly string[] {
  const { changes } = (reply ?? error?.report)?.copy ?? {};
  return changes === undefined ? [] : [changes.changeId];
}

/** Creates what tells the progress of all agents as that of one call: of each that changes, by its name and number. */
function createTeller(events: TurnEvents, count: number) {
  const places = new Map<number, TurnProgress>();
  return {
    place(index: number, progress: TurnProgress): void {
      const numbered = { ...progress, agent: `${progress.agent} (${index + 1} of ${count})`, sessionId: undefined };
      places.set(index, numbered);
      events.emit("phase", numbered);
    },
    /** Tells where another agent is, since the last one told is repeated from time to time. */
    end(index: number): void {
      places.delete(index);
      const [other] = places.values();
      if (other !== undefined) events.emit("phase", other);
    },
  };
}
