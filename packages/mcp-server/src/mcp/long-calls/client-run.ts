import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { TurnEvents, type TurnProgress } from "@budgie/core/protocol";

/** A call of one client that its turn may outlast, and whose result can be awaited more than once. */
export type ClientRun = {
  /** The id of the call's turn, if it runs one */
  readonly runId: string;
  /** The tool that was called */
  readonly tool: string;
  /** From `performance.now()` */
  readonly beganMs: number;
  /** The events of its turn */
  readonly events: TurnEvents;
  readonly result: Promise<CallToolResult>;
  /** Takes the result. */
  readonly settle: (result: Promise<CallToolResult>) => void;
  /** Returns the result; `undefined` while the run lasts, and if it failed with a bug. */
  readonly outcome: () => CallToolResult | undefined;
  /** Returns the latest progress; `undefined` before the first. */
  readonly place: () => TurnProgress | undefined;
  /** Tells these events the latest progress and every further one, until the returned function is called. */
  readonly follow: (followers: TurnEvents | undefined) => () => void;
  /** Aborted by `stop` */
  readonly signal: AbortSignal;
  readonly stop: (reason?: unknown) => void;
};

/** Begins the run of a call whose turn tells these events. */
export function beginClientRun(tool: string, events: TurnEvents = new TurnEvents()): ClientRun {
  const stopping = new AbortController();
  let place: TurnProgress | undefined;
  let outcome: CallToolResult | undefined;
  let settle: ClientRun["settle"] = () => undefined;
  const result = new Promise<CallToolResult>((resolve) => (settle = resolve));

  events.on("phase", (progress) => void (place = progress));
  // Callers that await `result` see the same rejection; this only avoids an unhandled one.
  result.then((known) => (outcome = known)).catch(() => undefined);
  return {
    runId: randomUUID(),
    tool,
    beganMs: performance.now(),
    events,
    result,
    settle,
    outcome: () => outcome,
    place: () => place,
    follow(followers) {
      if (followers === undefined) return () => undefined;
      const tell = (progress: TurnProgress): void => void followers.emit("phase", progress);
      events.on("phase", tell);
      if (place !== undefined) tell(place);
      return () => void events.off("phase", tell);
    },
    signal: stopping.signal,
    stop: (reason) => stopping.abort(reason),
  };
}
