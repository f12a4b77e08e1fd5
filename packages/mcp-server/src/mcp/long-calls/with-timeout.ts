/** Awaits `work` for at most `limitMs` or until `signal` aborts; then resolves to `undefined`. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number, signal?: AbortSignal): Promise<T | undefined> {
  if (signal?.aborted === true) return undefined;
  let stop = (): void => undefined;
  const enough = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
  const timer = setTimeout(stop, limitMs).unref();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, enough]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
