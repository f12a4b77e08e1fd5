import { fstatSync, type Stats } from "node:fs";
import { isSince } from "./files/note-time.ts";
import { ROOT, toPathKey, type FolderPath } from "../walk/folder-path.ts";
import { isLocalFolder } from "../walk/is-local-folder.ts";
import { statEntries } from "../walk/stat-entries.ts";
import { walkWorkspace, type Next, type VisitedFolder, type WalkBounds } from "../walk/walk-workspace.ts";

/** The changed paths in a folder, as far as it could be read. */
export type ChangedPaths = {
  /** The paths as `toPathKey` writes them, with a `/` after folders */
  readonly paths: readonly string[];
  /** The first path that could not be read; `undefined` if `paths` is complete */
  readonly unread: { readonly path: string; readonly why: string } | undefined;
};

/**
 * Finds everything in a folder that changed at `sinceMs` or later, by its ctime, which no program can set. A removed entry shows up as a
 * change of its folder. Follows no symlink, reads no file, and never fails.
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
  return { paths: withoutParents(search.found), unread: search.unread };
}

type Search = {
  readonly sinceMs: number;
  /** The devices whose file times are known to come from this machine's clock */
  readonly devices: Set<number>;
  readonly found: Found[];
  unread: ChangedPaths["unread"];
  readonly stopAt: (path: string, why: string) => void;
};

type Found = { readonly path: string; readonly parent: string; readonly isFolder: boolean; readonly isNew: boolean };

async function visit(search: Search, folder: VisitedFolder): Promise<readonly Next<undefined>[]> {
  const own = fstatSync(folder.fd);
  const path = toPathKey(folder.path);
  if (!search.devices.has(own.dev)) {
    if (!(await isLocalFolder(folder.at))) {
      search.stopAt(path, "its file system may have another clock");
      return [];
    }
    search.devices.add(own.dev);
  }
  if (folder.path === ROOT) note(search, { folder: ROOT }, own);
  const next: Next<undefined>[] = [];
  for await (const batch of folder.batches()) {
    for (const { entry, found } of await statEntries(folder, batch, { isLocal: true })) {
      // An entry that was removed meanwhile counts too: something still changes the folder.
      if (typeof found === "string") search.stopAt(toPathKey(folder.path, entry.name), `it cannot be read (${found})`);
      else {
        note(search, { folder: folder.path, name: entry.name }, found);
        if (found.isDirectory()) next.push({ name: entry.name, kind: undefined });
      }
    }
  }
  return next;
}

type ChangedPlace = { readonly folder: FolderPath; readonly name?: Buffer };

function note({ found, sinceMs }: Search, { folder, name }: ChangedPlace, stats: Stats): void {
  if (!isSince(stats.ctimeMs, sinceMs)) return;
  const [path, parent] = [toPathKey(folder, name), toPathKey(folder)];
  found.push({ path, parent, isFolder: stats.isDirectory(), isNew: isSince(stats.birthtimeMs, sinceMs) });
}

/** Removes folders whose change is explained by a new entry that is listed itself. */
function withoutParents(found: readonly Found[]): readonly string[] {
  const parents = new Set(found.filter(({ isNew }) => isNew).map(({ parent }) => parent));
  return found
    .filter(({ isFolder, path }) => !(isFolder && parents.has(path)))
    .map(({ isFolder, path }) => (isFolder ? `${path}/` : path));
}
