/** Works on all items, so many at once. Unlike a promise for each, that costs no memory for those that wait. */
export async function forEachOf<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const workers = Array.from({ length: atOnce }, async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) await work(next.value);
  });
  // All of it is over before this is: what was opened for the work may be closed then.
  const failed = (await Promise.allSettled(workers)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
