/** Yields items until a signal, and throws its reason then: also while an item is waited for that may never come. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (signal === undefined) return yield* items;
  const iterator = items[Symbol.asyncIterator]();
  let stopWaiting = (): void => undefined;
  const onAbort = (): void => stopWaiting();
  signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      // A promise for each item: one for all would keep what waited for it.
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        stopWaiting = () => reject(signal.reason as Error);
        iterator.next().then(resolve, reject);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    // One that hangs would not return before its next item.
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
