import { lstatSync, type Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { pathIn, type FolderHandle } from "./open-folder.ts";
import type { Entry } from "./walk-workspace.ts";

/** An entry with its stats, or with the code of the error. */
export type Looked = { readonly entry: Entry; readonly found: Stats | string };

/**
 * Calls lstat on a batch of a folder's entries. On a local file system it does so synchronously, which
 * takes a quarter of the time. A file server may never answer, so there it uses the thread pool.
 */
export async function statEntries(
  folder: FolderHandle,
  entries: readonly Entry[],
  { isLocal }: { readonly isLocal: boolean },
): Promise<readonly Looked[]> {
  const look = isLocal ? lstatSync : lstat;
  return Promise.all(
    entries.map(async (entry) => ({ entry, found: await statOrCode(() => look(pathIn(folder, entry.name))) })),
  );
}

async function statOrCode(look: () => Stats | Promise<Stats>): Promise<Stats | string> {
  try {
    return await look();
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
