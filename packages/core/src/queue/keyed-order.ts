/** Settles promises that share a key in the order they were passed in. Without a key, does not wait. */
export type KeyedOrder = <T>(key: string | undefined, work: Promise<T>) => Promise<T>;

/** Creates an order without pending promises. */
export function createKeyedOrder(): KeyedOrder {
  const last = new Map<string, Promise<void>>();
  return async (key, work) => {
    if (key === undefined) return work;
    const over = Promise.allSettled([last.get(key), work]).then(() => undefined);
    last.set(key, over);
    await over;
    if (last.get(key) === over) last.delete(key);
    return work;
  };
}
