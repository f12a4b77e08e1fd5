import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { TurnEvents, type TurnProgress } from "@budgie/core/protocol";
import type { TurnHooks } from "@budgie/core/turn";

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
  /** Tells these events the latest progress and every further one, until the returned function is called. */
  readonly follow: (events: TurnEvents | undefined) => () => void;
  readonly stop: (reason?: unknown) => void;
};

type Work = (hooks: TurnHooks) => Promise<CallToolResult> | undefined;

/** Starts a run; `undefined` if `work` returns `undefined`. */
export function beginClientRun(tool: string, work: Work): ClientRun | undefined {
  const runId = randomUUID();
  const stopping = new AbortController();
  const events = new TurnEvents();
  let place: TurnProgress | undefined;
  let outcome: CallToolResult | undefined;

  events.on("phase", (progress) => void (place = progress));
  const result = work({ runId, signal: stopping.signal, events });
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
    follow(followers) {
      if (followers === undefined) return () => undefined;
      const tell = (progress: TurnProgress): void => void followers.emit("phase", progress);
      events.on("phase", tell);
      if (place !== undefined) tell(place);
      return () => void events.off("phase", tell);
    },
    stop: (reason) => stopping.abort(reason),
  };
}
