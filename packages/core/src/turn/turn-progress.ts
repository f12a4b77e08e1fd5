import { randomUUID } from "node:crypto";
import type { TurnPhase } from "../queue/turn-queue.ts";
import type { TurnHooks } from "./turn.ts";

/** The progress of a turn, as its caller follows it. */
export type TurnTracker = Pick<TurnHooks, "onEgress" | "onOutput"> & {
  readonly runId: string;
  readonly signal: AbortSignal | undefined;
  /** Returns true if the turn had to wait in the queue. */
  readonly hasWaited: () => boolean;
  /** Reports the turn's phase. */
  readonly onPhase: (phase: TurnPhase) => void;
  /** Sets the turn's session, once it is open. */
  readonly inSession: (sessionId: string) => void;
};

/** Creates the tracker of a turn, which reports each phase to the caller. */
export function trackTurn(
  { onEgress, onOutput, onProgress, runId = randomUUID(), signal }: TurnHooks,
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
    onEgress,
    onOutput,
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
