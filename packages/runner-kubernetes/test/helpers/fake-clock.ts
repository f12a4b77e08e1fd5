import type { Clock } from "../../src/wire/clock.ts";

/** A clock that stands still until it is advanced. */
export type FakeClock = Clock & {
  readonly advance: (ms: number) => void;
  /** Lets time pass in which the process is stopped: tasks that were due run once, afterwards */
  readonly stop: (ms: number) => void;
};

/** Creates a clock at 0. */
export function createFakeClock(): FakeClock {
  let now = 0;
  const timers = new Set<{ readonly ms: number; readonly task: () => void; next: number }>();
  return {
    now: () => now,
    every(ms, task) {
      const timer = { ms, task, next: now + ms };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      for (const end = now + ms; now < end;) {
        now = Math.min(end, ...[...timers].map(({ next }) => next));
        for (const timer of timers) {
          if (timer.next > now) continue;
          timer.next += timer.ms;
          timer.task();
        }
      }
    },
    stop(ms) {
      now += ms;
      for (const timer of timers) {
        if (timer.next > now) continue;
        timer.next = now + timer.ms;
        timer.task();
      }
    },
  };
}
