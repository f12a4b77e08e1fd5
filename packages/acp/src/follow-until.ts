type Following = { readonly signal: AbortSignal; readonly end: () => void };

/** Creates a signal that follows another one until `end` is called. */
export function followUntil(signal: AbortSignal | undefined): Following {
  const own = new AbortController();
  const abort = (): void => own.abort();
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  return { signal: own.signal, end: () => signal?.removeEventListener("abort", abort) };
}
