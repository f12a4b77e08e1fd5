import { lstatSync, type Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { toPathIn, type HeldFolder } from "./held-folder.ts";
import type { Entry } from "./walk-workspace.ts";

/** What an entry is, or the code of the error with which it could not be looked at. */
export type Looked = { readonly entry: Entry; readonly found: Stats | string };

/**
 * Looks at entries of a folder, of which there must be few enough to do so at once: on a file system of this machine that
 * takes a quarter of the time. A server may never answer, so it is asked in the thread pool.
 */
export async function lookAtAll(
  folder: HeldFolder,
  entries: readonly Entry[],
  { isLocal }: { readonly isLocal: boolean },
): Promise<readonly Looked[]> {
  const look = isLocal ? lstatSync : lstat;
  return Promise.all(
    entries.map(async (entry) => ({ entry, found: await toFound(() => look(toPathIn(folder, entry.name))) })),
  );
}

async function toFound(look: () => Stats | Promise<Stats>): Promise<Stats | string> {
  try {
    return await look();
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
