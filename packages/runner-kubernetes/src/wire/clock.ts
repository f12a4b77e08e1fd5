/** The time as the wire sees it, which tests replace. */
export type Clock = {
  /** Milliseconds since any fixed moment */
  readonly now: () => number;
  /** Runs a task again and again until the returned function is called */
  readonly every: (ms: number, task: () => void) => () => void;
};

/** The time of this machine. */
export const CLOCK: Clock = {
  now: () => performance.now(),
  every(ms, task) {
    const timer = setInterval(task, ms).unref();
    return () => clearInterval(timer);
  },
};

/** Resolves after a time, or as soon as the signal aborts. */
export function pause(
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      stop();
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const stop = clock.every(ms, finish);
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
  });
}
