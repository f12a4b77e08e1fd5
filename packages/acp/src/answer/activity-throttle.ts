/** Activities that are reported now and then. */
export type ActivityThrottle = {
  readonly add: (activity: string) => void;
  /** Discards what is not reported yet. */
  readonly end: () => void;
};

const EVERY_MS = 250;

/** Creates a throttle: it reports the first activity at once, and of those that follow soon only the last. */
export function createActivityThrottle(report: ((activity: string) => void) | undefined): ActivityThrottle {
  let latest: string | undefined;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    timer = undefined;
    if (latest === undefined) return;
    report?.(latest);
    latest = undefined;
    timer = setTimeout(flush, EVERY_MS);
  }

  return {
    add(activity) {
      latest = activity;
      if (timer === undefined) flush();
    },
    end: () => clearTimeout(timer),
  };
}
