/** A throttle for reports of activities: at most one every 250 ms. */
export type ActivityThrottle = {
  readonly add: (activity: string) => void;
  /** Discards an activity that is not reported yet. */
  readonly end: () => void;
};

const EVERY_MS = 250;

/** Creates a throttle. It reports the first activity at once, and only the last of those that follow soon. */
export function createActivityThrottle(report: (activity: string) => void): ActivityThrottle {
  let latest: string | undefined;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    timer = undefined;
    if (latest === undefined) return;
    report(latest);
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
