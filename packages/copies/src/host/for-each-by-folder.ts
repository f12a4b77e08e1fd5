import { forEachOf, pathIn } from "@budgie/core/walk";
import type { HostFolder, HostPlace } from "./host-folder.ts";

/** The place of a path, or the error of a folder on the way to it. */
export type FoundPlace = HostPlace | NodeJS.ErrnoException;

// A file server answers several calls at once in hardly more time than one.
const AT_ONCE = 16;

/** Works on items by their paths. Each folder is opened once for all that lie in it. */
export async function forEachByFolder<Item extends { readonly path: string }>(
  host: HostFolder,
  items: Iterable<Item>,
  work: (item: Item, found: FoundPlace) => Promise<unknown>,
): Promise<void> {
  await forEachOf(groupByFolder(items), AT_ONCE, async ([parent, group]) => {
    let isOpen = false;
    try {
      await host.at(`${parent}.`, async ({ folder }) => {
        isOpen = true;
        await forEachOf(group, AT_ONCE, (item) => {
          const name = Buffer.from(item.path.slice(parent.length));
          return work(item, { folder, name, path: pathIn(folder, name) });
        });
      });
    } catch (error) {
      if (isOpen) throw error;
      await forEachOf(group, AT_ONCE, (item) => work(item, error as NodeJS.ErrnoException));
    }
  });
}

/** Groups items by the path of their folder, which ends in a slash unless it is empty. */
export function groupByFolder<Item extends { readonly path: string }>(
  items: Iterable<Item>,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const folder = item.path.slice(0, item.path.lastIndexOf("/") + 1);
    const known = groups.get(folder);
    if (known === undefined) groups.set(folder, [item]);
    else known.push(item);
  }
  return groups;
}
