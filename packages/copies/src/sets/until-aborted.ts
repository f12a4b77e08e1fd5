import { orAborted } from "@budgie/core/bounds";

/** Yields items until a signal, and throws its reason then: also while an item is waited for that may never come. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (signal === undefined) return yield* items;
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await orAborted(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // One that hangs would not return before its next item.
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
