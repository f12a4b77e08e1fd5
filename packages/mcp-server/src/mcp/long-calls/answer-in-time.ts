import type { Step } from "@budgie/core/turn";
import type { ClientRun } from "./client-run.ts";

export type InTimeOptions = {
  /** Returns the run of a turn; `undefined` for a turn whose call waits for its end */
  readonly find: (runId: string) => ClientRun | undefined;
  /** Returns the soft deadline of the client in milliseconds; `undefined` if there is none */
  readonly deadlineMs: () => number | undefined;
};

/**
 * Creates a step that tells the call of a turn when to answer, at the client's soft deadline. Until then the call's cancellation stops the
 * turn; afterwards only its run does.
 */
export function answerInTime({ deadlineMs, find }: InTimeOptions): Step {
  return async (turn, next) => {
    const run = find(turn.id);
    const limitMs = deadlineMs();
    if (run === undefined || limitMs === undefined) return next();
    const { events, signal: call } = turn;
    const stop = (): void => run.stop(call?.reason);
    const letGo = (): void => call?.removeEventListener("abort", stop);
    turn.signal = run.signal;
    call?.addEventListener("abort", stop, { once: true });
    if (call?.aborted === true) stop();
    const late = (): void => {
      letGo();
      events.emit("late", limitMs);
    };
    const timer = setTimeout(late, limitMs).unref();
    try {
      return await next();
    } finally {
      clearTimeout(timer);
      letGo();
    }
  };
}
