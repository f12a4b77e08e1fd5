/** Works on all items, `atOnce` of them at a time. Items that wait cost no memory, unlike a promise for each. */
export async function forEachOf<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const workers = Array.from({ length: atOnce }, async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) await work(next.value);
  });
  // Waits for all workers, also after a failure, since the caller then closes the descriptors that they use.
  const failed = (await Promise.allSettled(workers)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
