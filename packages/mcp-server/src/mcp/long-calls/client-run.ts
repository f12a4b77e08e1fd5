import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { TurnHooks, TurnProgress } from "@budgie/core";

/** A call of one client that may outlive its answer, and whose result can be awaited more than once. */
export type ClientRun = {
  readonly runId: string;
  /** The tool that was called */
  readonly tool: string;
  /** From `performance.now()` */
  readonly beganMs: number;
  readonly result: Promise<CallToolResult>;
  /** Returns the result; `undefined` while the run lasts, and if it failed with a bug. */
  readonly outcome: () => CallToolResult | undefined;
  /** Returns the latest progress; `undefined` before the first. */
  readonly place: () => TurnProgress | undefined;
  /** Calls `tell` with the latest progress and every further one, until the returned function is called. */
  readonly follow: (tell: Tell | undefined) => () => void;
  readonly stop: (reason?: unknown) => void;
};

type Tell = (progress: TurnProgress) => void;
type Work = (hooks: TurnHooks) => Promise<CallToolResult> | undefined;

/** Starts a run; `undefined` if `work` returns `undefined`. */
export function beginClientRun(tool: string, work: Work): ClientRun | undefined {
  const runId = randomUUID();
  const stopping = new AbortController();
  const followers = new Set<Tell>();
  let place: TurnProgress | undefined;
  let outcome: CallToolResult | undefined;

  const result = work({
    runId,
    signal: stopping.signal,
    onProgress(progress) {
      place = progress;
      for (const tell of followers) tell(progress);
    },
  });
  if (result === undefined) return undefined;
  // Callers that await `result` see the same rejection; this only avoids an unhandled one.
  result.then((known) => (outcome = known)).catch(() => undefined);
  return {
    runId,
    tool,
    beganMs: performance.now(),
    result,
    outcome: () => outcome,
    place: () => place,
    follow(tell) {
      if (tell === undefined) return () => undefined;
      followers.add(tell);
      if (place !== undefined) tell(place);
      return () => void followers.delete(tell);
    },
    stop: (reason) => stopping.abort(reason),
  };
}
