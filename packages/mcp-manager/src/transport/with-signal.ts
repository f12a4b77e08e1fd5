/** Resolves as the promise does. Rejects when the signal is aborted, which ends no work. */
export async function withSignal<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
  return Promise.race([promise, aborted]);
}
