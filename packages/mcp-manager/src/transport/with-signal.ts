/** Settles as the promise does, or rejects when the signal aborts; the work goes on. */
export async function withSignal<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
  return Promise.race([promise, aborted]);
}
