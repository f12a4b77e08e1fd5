import { fstatSync, type Stats } from "node:fs";
import type { ChangedFiles, ChangeKind } from "../../changed-files.ts";
import { toPathKey } from "../../walk/folder-path.ts";
import type { Looked } from "../../walk/stat-entries.ts";
import type { Entry, VisitedFolder } from "../../walk/walk-workspace.ts";
import { isSince } from "./note-time.ts";
import type { Names, NamesBefore } from "./names-before.ts";

/** A change that was found, by its path as `toPathKey` writes it, with a `/` after folders. */
export type FoundChange = { readonly path: string; readonly kind: ChangeKind; readonly size?: number | undefined };

/** The stats of a folder's files and links, as far as one could read them. */
export type LookedSince = {
  readonly looked: readonly Looked[];
  /** The time since which a change counts; `undefined` if the file system's times cannot be compared with it */
  readonly sinceMs: number | undefined;
};

/** A search for all files that changed, by what a walk shows it on its way. */
export type FileSearch = {
  /** Looks at a batch of a folder's entries */
  readonly see: (folder: VisitedFolder, entries: readonly Entry[], stats: LookedSince) => void;
  /** Notes the end of a folder; `isFlagged` if the host runs what is in it */
  readonly leave: (folder: VisitedFolder, isFlagged: boolean) => void;
  /** Returns the changes. `isDoubtful` is true for paths that may be missing only because they were not read */
  readonly finish: (isDoubtful: (path: string) => boolean) => FoundChanges;
};

export type FoundChanges = Pick<ChangedFiles, "files" | "unknown"> & {
  /** The first changes, in the order of the walk */
  readonly first: readonly FoundChange[];
  /** The changes of folders themselves in which the host runs files */
  readonly passing: readonly FoundChange[];
  /** The number of all changes besides those in git folders */
  readonly count: number;
  /** The number of changes in each git folder, by its path */
  readonly repositories: ReadonlyMap<string, number>;
};

/** The most changes that are kept of a turn. */
export const MOST_CHANGES = 500;

/** Creates a search that compares with the names of a workspace before the turn. */
export function createFileSearch(before: NamesBefore): FileSearch {
  const list = createList();
  const folders = new Map<string, FolderState>();
  const created = new Set<string>();
  let isTimed = true;

  function stateOf(key: string): FolderState {
    const known = folders.get(key);
    if (known !== undefined) return known;
    const state: FolderState = {
      isNew: created.has(key),
      names: before.take(key),
      changed: 0,
      renamed: 0,
      own: undefined,
      isFlagged: false,
    };
    folders.set(key, state);
    return state;
  }

  function note(state: FolderState, change: FoundChange): void {
    if (change.kind === "created") state.renamed += 1;
    state.changed += 1;
    list.add(change);
  }

  function seeFolder(state: FolderState, path: string, wasThere: boolean): void {
    if (!isNewIn(state, wasThere)) return;
    created.add(path);
    // Its content is listed by itself.
    if (!state.isNew) note(state, { path: `${path}/`, kind: "created" });
  }

  return {
    see(folder, entries, { looked, sinceMs }) {
      const state = stateOf(toPathKey(folder.path));
      isTimed &&= sinceMs !== undefined;
      const stats = new Map(looked.map(({ entry, found }) => [entry, found]));
      for (const entry of entries) {
        const path = toPathKey(folder.path, entry.name);
        const wasThere = takeName(state, entry);
        if (entry.type === "folder") seeFolder(state, path, wasThere);
        else {
          const found = stats.get(entry);
          const kind = findKind(state, { entry, wasThere, found, sinceMs });
          if (kind !== undefined) note(state, { path, kind, size: sizeOf(found) });
        }
      }
      state.sinceMs = sinceMs;
    },
    leave(folder, isFlagged) {
      const state = stateOf(toPathKey(folder.path));
      state.isFlagged = isFlagged;
      const { ctimeMs, mtimeMs } = fstatSync(folder.fd);
      state.own = findOwnKind(state, { ctimeMs, mtimeMs });
    },
    finish(isDoubtful) {
      const seen = [...folders].flatMap(([key, { names }]) => (names === undefined ? [] : [[key, names] as const]));
      for (const [key, names] of [...seen, ...before.takeRest()]) {
        const state = folders.get(key);
        for (const [name, type] of names) {
          const path = key === "" ? name : `${key}/${name}`;
          // A folder in a removed one is told by it.
          if (isDoubtful(path) || (state === undefined && type === "folder")) continue;
          if (state !== undefined) state.renamed += 1;
          list.add({ path: type === "folder" ? `${path}/` : path, kind: "removed" });
        }
      }
      const passing = [...folders].flatMap(([key, state]) => toPassing(key, state));
      for (const { path, kind } of passing) list.add({ path, kind });
      const flagged = passing.filter(({ isFlagged }) => isFlagged);
      return { ...list.all(), passing: flagged, ...findUnknown(isTimed, before) };
    },
  };
}

type FolderState = {
  /** True if the folder itself is new */
  readonly isNew: boolean;
  /** The names before the turn that were not seen again; `undefined` if they are not known */
  readonly names: Names | undefined;
  changed: number;
  /** The number of created and removed names */
  renamed: number;
  /** The change of the folder itself */
  own: ChangeKind | undefined;
  isFlagged: boolean;
  sinceMs?: number | undefined;
};

/** Returns true if the folder had an entry of this name and type, and no longer counts it as removed. */
function takeName({ names }: FolderState, { name, type }: Entry): boolean {
  const text = name.toString("latin1");
  const was = names?.get(text);
  names?.delete(text);
  return was === type;
}

function isNewIn({ isNew, names }: FolderState, wasThere: boolean): boolean {
  return isNew || (names !== undefined && !wasThere);
}

type Seen = {
  readonly entry: Entry;
  readonly wasThere: boolean;
  readonly found: Stats | string | undefined;
  readonly sinceMs: number | undefined;
};

function findKind(state: FolderState, { entry, found, sinceMs, wasThere }: Seen): ChangeKind | undefined {
  const isLink = entry.type === "link";
  if (isNewIn(state, wasThere)) return isLink ? "link" : "created";
  if (typeof found !== "object" || sinceMs === undefined || !isSince(found.ctimeMs, sinceMs)) return undefined;
  if (isLink) return "link";
  // Where the names before are not known, only the file itself tells its age.
  return state.names === undefined && isSince(found.birthtimeMs, sinceMs) ? "created" : "changed";
}

function sizeOf(found: Stats | string | undefined): number | undefined {
  return typeof found === "object" && found.isFile() ? found.size : undefined;
}

/** Finds the change of a folder itself, by its ctime, which no program can set. */
function findOwnKind({ sinceMs }: FolderState, times: Pick<Stats, "ctimeMs" | "mtimeMs">): ChangeKind | undefined {
  if (sinceMs === undefined || !isSince(times.ctimeMs, sinceMs)) return undefined;
  return isSince(times.mtimeMs, sinceMs) ? "came-and-went" : "changed";
}

/** Returns the change of a folder itself, unless something that is left explains it. */
function toPassing(key: string, { changed, isFlagged, isNew, own, renamed }: FolderState) {
  // A file that was replaced by another of its name explains it too, but must not hide a hook that is gone.
  const isExplained = isNew || renamed > 0 || (changed > 0 && !isFlagged);
  return own === undefined || isExplained ? [] : [{ path: `${key}/`, kind: own, isFlagged }];
}

function findUnknown(isTimed: boolean, before: NamesBefore): Pick<ChangedFiles, "unknown"> {
  if (!isTimed) return { unknown: "the file times cannot be compared, so changed content was not seen" };
  if (!before.isFull()) return {};
  return { unknown: "there are too many files to tell everywhere which ones were removed" };
}

/** Creates the list of changes. A git folder's are only counted: a commit changes many files that nobody looks at. */
function createList() {
  const first: FoundChange[] = [];
  const repositories = new Map<string, number>();
  let count = 0;
  let files = 0;

  return {
    add(change: FoundChange): void {
      const git = findGitFolderOf(change.path);
      if (git !== undefined && git !== change.path) {
        // An agent may make any number of them.
        if (repositories.size < MOST_CHANGES) repositories.set(git, (repositories.get(git) ?? 0) + 1);
        return;
      }
      count += 1;
      if (!change.path.endsWith("/")) files += 1;
      if (first.length < MOST_CHANGES) first.push(change);
    },
    all: () => ({ first, repositories, count, files }),
  };
}

/** Returns the path of the git folder that a path is, or lies in; `undefined` if there is none. */
export function findGitFolderOf(path: string): string | undefined {
  const at = `/${path}`.indexOf("/.git/");
  return at === -1 ? undefined : path.slice(0, at + ".git/".length);
}
