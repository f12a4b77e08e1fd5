import { fstatSync, type Stats } from "node:fs";
import { readlink } from "node:fs/promises";
import type { LookedSince } from "./files/file-search.ts";
import { isSince } from "./files/note-time.ts";
import { ROOT, toPathKey } from "../walk/folder-path.ts";
import { pathIn, type FolderHandle } from "../walk/open-folder.ts";
import { isLocalFolder } from "../walk/is-local-folder.ts";
import { statEntries } from "../walk/stat-entries.ts";
import type { Entry, VisitedFolder } from "../walk/walk-workspace.ts";
import { leadsOutside } from "./leads-outside.ts";

/** A search for entries of this turn that are dangerous because of their kind, not their name. */
export type RiskyEntries = {
  /** Looks at entries of a folder, and returns their stats; the root comes first */
  readonly look: (folder: VisitedFolder, entries: readonly Entry[]) => Promise<LookedSince>;
  /** Returns true if a file's time is from this turn; `false` if that is unknown */
  readonly isNew: (ctimeMs: number) => boolean;
  /** Setuid and setgid files */
  readonly privileged: Listed<Privileged>;
  /** Symlinks that lead out of the workspace */
  readonly outward: Listed<Outward>;
};

/** The first items found, and the total number. */
export type Listed<Item> = { readonly first: readonly Item[]; readonly count: number };

export type Privileged = { readonly path: string; readonly bit: "setuid" | "setgid"; readonly id: number };
export type Outward = { readonly path: string; readonly target: string };

/**
 * Creates a search for suspects during one walk. `sinceMs` is `undefined` if budgie cannot tell what is new. Then, as on a file system with
 * its own clock, every setuid or setgid file counts, since these are rare, and no symlink does.
 */
export function createRiskyEntries(workspace: string, sinceMs: number | undefined): RiskyEntries {
  const [privileged, outward] = [createList<Privileged>(), createList<Outward>()];
  const locals = new Map<number, boolean>();
  let root: FolderHandle | undefined;

  async function noteLink(folder: VisitedFolder, name: Buffer): Promise<void> {
    // A symlink that cannot be read was removed meanwhile.
    const target = await readlink(pathIn(folder, name), "buffer").catch(() => undefined);
    if (target === undefined || root === undefined) return;
    if (!(await leadsOutside(target, { root, workspace, folder: folder.path }))) return;
    outward.add({ path: toPathKey(folder.path, name), target: target.toString("latin1") });
  }

  function notePrivileged(folder: VisitedFolder, name: Buffer, { gid, mode, uid }: Stats): void {
    const bit = (mode & SETUID) === 0 ? "setgid" : "setuid";
    privileged.add({ path: toPathKey(folder.path, name), bit, id: bit === "setuid" ? uid : gid });
  }

  /** Returns true if the file times in a folder come from this machine's clock. */
  async function isTimed({ at, fd }: VisitedFolder): Promise<boolean> {
    const { dev } = fstatSync(fd);
    const known = locals.get(dev) ?? (await isLocalFolder(at));
    locals.set(dev, known);
    return known;
  }

  return {
    isNew: (ctimeMs) => sinceMs !== undefined && isSince(ctimeMs, sinceMs),
    privileged,
    outward,
    async look(folder, entries) {
      if (folder.path === ROOT) root = folder;
      const isLocal = await isTimed(folder);
      const since = isLocal ? sinceMs : undefined;
      const looked = await statEntries(folder, entries.filter(isFileOrLink), { isLocal });
      const found = looked.flatMap((one) => (isFrom(one.found, since) ? [{ ...one.entry, stats: one.found }] : []));
      for (const { name, stats } of found) if (isPrivileged(stats)) notePrivileged(folder, name, stats);
      const links = since === undefined ? [] : found.filter(({ stats }) => stats.isSymbolicLink());
      await folder.forEach(links, ({ name }) => noteLink(folder, name));
      return { looked, sinceMs: since };
    },
  };
}

function isFileOrLink({ type }: Entry): boolean {
  return type === "file" || type === "link";
}

/** Returns true if an entry still exists and changed at `sinceMs` or later, or at any time if `sinceMs` is `undefined`. */
function isFrom(found: Stats | string, sinceMs: number | undefined): found is Stats {
  return typeof found !== "string" && (sinceMs === undefined || isSince(found.ctimeMs, sinceMs));
}

function isPrivileged(stats: Stats): boolean {
  return stats.isFile() && (stats.mode & (SETUID | SETGID)) !== 0;
}

const SETUID = 0o4000;
const SETGID = 0o2000;
const MOST = 200;

function createList<Item>(): Listed<Item> & { readonly add: (item: Item) => void } {
  const first: Item[] = [];
  let count = 0;
  return {
    first,
    get count() {
      return count;
    },
    add(item) {
      count += 1;
      if (first.length < MOST) first.push(item);
    },
  };
}
