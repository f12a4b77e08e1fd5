import { randomUUID } from "node:crypto";
import type { TurnPhase } from "../queue/turn-queue.ts";
import type { TurnHooks } from "./turn.ts";

/** What a turn knows of the caller that follows it. */
export type TurnTracker = {
  readonly runId: string;
  readonly signal: AbortSignal | undefined;
  /** Whether it had to wait for its place. */
  readonly hasWaited: () => boolean;
  /** Says where the turn is. */
  readonly onPhase: (phase: TurnPhase) => void;
  /** Says which session it is one of, once that is open. */
  readonly inSession: (sessionId: string) => void;
};

/** Names the run of a turn, and tells its caller of it. */
export function trackTurn(
  { onProgress, runId = randomUUID(), signal }: TurnHooks,
  { agent, sessionId }: { readonly agent: string; readonly sessionId: string | undefined },
): TurnTracker {
  let session = sessionId;
  let last: TurnPhase["phase"] | undefined;
  let sinceMs = 0;
  let hasWaited = false;
  const onPhase = (phase: TurnPhase): void => {
    if (phase.phase !== last) sinceMs = performance.now();
    last = phase.phase;
    hasWaited ||= phase.phase === "waiting";
    onProgress?.({ agent, runId, sessionId: session, sinceMs, ...phase });
  };
  return {
    runId,
    signal,
    hasWaited: () => hasWaited,
    onPhase,
    inSession(opened) {
      if (session === opened) return;
      session = opened;
      onPhase({ phase: "starting" });
    },
  };
}
