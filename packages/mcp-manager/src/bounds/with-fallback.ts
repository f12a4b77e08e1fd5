import { setTimeout as sleep } from "node:timers/promises";

/** Awaits `work` for at most `limitMs`, without stopping it. Resolves to `otherwise` on failure or timeout. */
export async function withFallback<Value>(work: Promise<Value>, limitMs: number, otherwise: Value): Promise<Value> {
  const over = new AbortController();
  const late = sleep(limitMs, otherwise, { signal: over.signal }).catch(() => otherwise);
  return Promise.race([work.catch(() => otherwise), late]).finally(() => over.abort());
}
