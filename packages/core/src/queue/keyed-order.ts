/** Hands on what was begun with one key in the order it was begun, whichever is done first; without a key at once. */
export type KeyedOrder = <T>(key: string | undefined, work: Promise<T>) => Promise<T>;

/** Creates an order in which nothing has arrived. */
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
