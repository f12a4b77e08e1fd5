import { setTimeout as sleep } from "node:timers/promises";

/** Resolves as the work does, or to `otherwise` if it fails or takes longer. The work goes on. */
export async function within<Value>(work: Promise<Value>, limitMs: number, otherwise: Value): Promise<Value> {
  const over = new AbortController();
  const late = sleep(limitMs, otherwise, { signal: over.signal }).catch(() => otherwise);
  return Promise.race([work.catch(() => otherwise), late]).finally(() => over.abort());
}
