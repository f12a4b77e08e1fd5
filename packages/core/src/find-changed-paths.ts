import { constants, type Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { hasLocalClock } from "./has-local-clock.ts";
import { isSince } from "./is-since.ts";
import { ROOT, toPathKey, type FolderPath } from "./walk/folder-path.ts";
import { toPathIn } from "./walk/held-folder.ts";
import { walkWorkspace, type Entry, type Next, type VisitedFolder, type WalkBounds } from "./walk/walk-workspace.ts";

/** What was found in a folder, as far as it could be looked at. */
export type ChangedPaths = {
  /** As of `toPathKey`; what is a folder ends with `/` */
  readonly paths: readonly string[];
  /** Why there may be more; `undefined` if that is all */
  readonly unread: { readonly path: string; readonly why: string } | undefined;
};

/**
 * Finds everything in a folder whose state is from `sinceMs` or later, by its ctime, which no program can set. What was removed shows in
 * the folder that it was in. Follows no link, reads no file, and never fails.
 */
export async function findChangedPaths(root: string, sinceMs: number, bounds: WalkBounds): Promise<ChangedPaths> {
  const ending = new AbortController();
  const search: Search = {
    sinceMs,
    devices: new Set(),
    found: [],
    unread: undefined,
    stopAt(path, why) {
      search.unread ??= { path, why };
      ending.abort();
    },
  };
  await walkWorkspace(root, {
    bounds,
    kind: undefined,
    visit: (folder) => visit(search, folder),
    onUnread: ({ path, why }) => search.stopAt(path, why),
    signal: ending.signal,
  });
  return { paths: toPlainest(search.found), unread: search.unread };
}

type Search = {
  readonly sinceMs: number;
  /** Those that are known to have this machine's times */
  readonly devices: Set<number>;
  readonly found: Found[];
  unread: ChangedPaths["unread"];
  readonly stopAt: (path: string, why: string) => void;
};

type Found = { readonly path: string; readonly parent: string; readonly isFolder: boolean; readonly isNew: boolean };

async function visit(search: Search, folder: VisitedFolder): Promise<readonly Next<undefined>[]> {
  const own = await folder.handle.stat();
  const path = toPathKey(folder.path);
  if (!search.devices.has(own.dev)) {
    if (!(await hasLocalClock(folder.at))) search.stopAt(path, "its file system may have another clock");
    search.devices.add(own.dev);
  }
  if (folder.path === ROOT) note(search, { folder: ROOT }, own);
  const next: Next<undefined>[] = [];
  for await (const batch of folder.batches()) {
    const isFolder = await Promise.all(batch.map((entry) => look(search, folder, entry)));
    next.push(...batch.filter((_, index) => isFolder[index]).map(({ name }) => ({ name, kind: undefined })));
  }
  return next;
}

/** Notes what is in a folder if it has changed, and tells whether it is a folder to go into. */
async function look(search: Search, folder: VisitedFolder, { name }: Entry): Promise<boolean> {
  try {
    const stats = await lstat(toPathIn(folder, name));
    note(search, { folder: folder.path, name }, stats);
    return isFolderMode(stats);
  } catch (error) {
    // One that is gone, too: somebody is still at work there.
    const why = `it cannot be looked at (${(error as NodeJS.ErrnoException).code})`;
    search.stopAt(toPathKey(folder.path, name), why);
    return false;
  }
}

type Place = { readonly folder: FolderPath; readonly name?: Buffer };

function note({ found, sinceMs }: Search, { folder, name }: Place, stats: Stats): void {
  if (!isSince(stats.ctimeMs, sinceMs)) return;
  const [path, parent] = [toPathKey(folder, name), toPathKey(folder)];
  found.push({ path, parent, isFolder: isFolderMode(stats), isNew: isSince(stats.birthtimeMs, sinceMs) });
}

function isFolderMode({ mode }: Stats): boolean {
  return (mode & constants.S_IFMT) === constants.S_IFDIR;
}

/** A folder changes with what is made and removed in it: where something new in it is named, it says nothing more. */
function toPlainest(found: readonly Found[]): readonly string[] {
  const parents = new Set(found.filter(({ isNew }) => isNew).map(({ parent }) => parent));
  return found
    .filter(({ isFolder, path }) => !(isFolder && parents.has(path)))
    .map(({ isFolder, path }) => (isFolder ? `${path}/` : path));
}
