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
