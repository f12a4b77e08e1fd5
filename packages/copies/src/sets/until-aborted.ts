/** Yields items until a signal, and throws its reason then: also while an item is waited for that may never come. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (signal === undefined) return yield* items;
  const iterator = items[Symbol.asyncIterator]();
  let stop: (reason: unknown) => void = () => undefined;
  // One for all items, of which there may be hundreds of thousands.
  const onAbort = (): void => stop(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        stop = reject;
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
