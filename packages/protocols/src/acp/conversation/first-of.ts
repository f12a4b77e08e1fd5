import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

// Node fires longer timers at once, with a warning.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves to `undefined` when the work settles, or to the reason why it must end before. */
export async function firstOf(
  work: Promise<unknown>,
  signal: AbortSignal | undefined,
  limitMs: number,
): Promise<"cancelled" | "timeout" | undefined> {
  if (signal?.aborted === true) return "cancelled";
  const over = new AbortController();
  const until = { signal: over.signal };
  const late = sleep(Math.min(Math.max(limitMs, 0), LONGEST_TIMER_MS), "timeout" as const, until);
  const cancelled = signal === undefined ? [] : [once(signal, "abort", until).then(() => "cancelled" as const)];
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  const others = [late, ...cancelled].map((other) => other.catch(() => undefined));
  return Promise.race([settled, ...others]).finally(() => over.abort());
}

/** Resolves to true if the work settles endsWithin `limitMs`. */
export async function endsWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  return (await firstOf(work, undefined, limitMs)) === undefined;
}
