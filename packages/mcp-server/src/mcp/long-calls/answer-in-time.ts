import type { Step, TurnHooks } from "@budgie/core/turn";
import type { ClientRun } from "./client-run.ts";

export type InTimeOptions = {
  /** Returns the run of a turn or call; `undefined` if the call waits for the end */
  readonly find: (runId: string) => ClientRun | undefined;
  /** Returns the soft deadline of the client in milliseconds; `undefined` if there is none */
  readonly deadlineMs: () => number | undefined;
};

/** Runs work of a call with the signal to heed. */
export type RunInTime = <T>(
  hooks: Pick<TurnHooks, "runId" | "signal">,
  work: (signal: AbortSignal | undefined) => Promise<T>,
) => Promise<T>;

/**
 * Creates what tells a call when to answer, at the client's soft deadline, while its work goes on. Until then the call's cancellation stops
 * the work; afterwards only its run does.
 */
export function createRunInTime({ deadlineMs, find }: InTimeOptions): RunInTime {
  return async ({ runId, signal: call }, work) => {
    const run = runId === undefined ? undefined : find(runId);
    const limitMs = deadlineMs();
    if (run === undefined || limitMs === undefined) return work(call);
    const stop = (): void => run.stop(call?.reason);
    const letGo = (): void => call?.removeEventListener("abort", stop);
    call?.addEventListener("abort", stop, { once: true });
    if (call?.aborted === true) stop();
    const late = (): void => {
      letGo();
      run.events.emit("late", limitMs);
    };
    const timer = setTimeout(late, limitMs).unref();
    try {
      return await work(run.signal);
    } finally {
      clearTimeout(timer);
      letGo();
    }
  };
}

/** Creates the step of a turn whose call answers in time. */
export function answerInTime(runInTime: RunInTime): Step {
  return (turn, next) =>
    runInTime({ runId: turn.id, signal: turn.signal }, (signal) => {
      turn.signal = signal;
      return next();
    });
}
