import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { TurnHooks, TurnProgress } from "@budgie/core";

/** A run of one client, whose result may be waited for more than once. */
export type ClientRun = {
  readonly runId: string;
  /** The tool that was called */
  readonly tool: string;
  /** By `performance.now()` */
  readonly beganMs: number;
  readonly result: Promise<CallToolResult>;
  /** What it came to; `undefined` while it runs, and if it ended in a bug */
  readonly outcome: () => CallToolResult | undefined;
  /** `undefined` before anything is known */
  readonly place: () => TurnProgress | undefined;
  /** Tells where the turn is, now and whenever that changes, until the answer is called */
  readonly follow: (tell: Tell | undefined) => () => void;
  readonly stop: (reason?: unknown) => void;
};

type Tell = (progress: TurnProgress) => void;
type Work = (hooks: TurnHooks) => Promise<CallToolResult> | undefined;

/** Begins a run; `undefined` if there is nothing to be done. */
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
  // Who waits for it meets a rejection too.
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
