import { readdirSync, statSync, watch, type FSWatcher } from "node:fs";
import { basename, join } from "node:path";
import { findTurningPoints } from "./watched-places.ts";

export type WatchedFolder = {
  readonly path: string;
  /** What the names of the files that matter end in */
  readonly ending: string;
};

export type FolderWatchOptions = {
  readonly folders: readonly WatchedFolder[];
  /** Whether anything is other than at the last change that was told; asked from time to time, so it must be cheap */
  readonly hasChanged: () => boolean;
  /** Comes once for changes that belong together */
  readonly onChange: () => void;
  readonly report: (line: string) => void;
  /** Default the system's own */
  readonly watchFolder?: typeof watch;
};

/** Looks out for changes of files, of the folders that they are in, and of what both are links to. */
export type FolderWatch = {
  /** Begins a moment later, so that nothing that starts has to wait for it */
  readonly start: () => void;
  readonly close: () => void;
};

const START_DELAY_MS = 500;
// Editors truncate, write and rename; a checkout changes many files.
const QUIET_MS = 300;
// A folder in which something is always written must not be looked at for the first time when that ends.
const LONGEST_WAIT_MS = 3_000;
// Disks of other machines tell of nothing, and then this is all there is. It costs a stat for each file.
const LOOK_EVERY_MS = 10_000;
const LOOK_EVERY_WHEN_BLIND_MS = 2_000;

/** Creates a watch that keeps no process alive; why it is not chokidar: ADR 12. */
export function createFolderWatch(options: FolderWatchOptions): FolderWatch {
  const { folders, hasChanged, onChange, report, watchFolder = watch } = options;
  const watched = new Map<string, Watched>();
  let isBlind = false;
  let waiting: { readonly since: number; readonly timer: NodeJS.Timeout } | undefined;
  let next: NodeJS.Timeout | undefined;

  function noteChange(): void {
    const since = waiting?.since ?? performance.now();
    clearTimeout(waiting?.timer);
    const delayMs = Math.min(QUIET_MS, Math.max(0, since + LONGEST_WAIT_MS - performance.now()));
    waiting = { since, timer: setTimeout(tell, delayMs).unref() };
  }

  function tell(): void {
    waiting = undefined;
    // What comes between looking and watching would be missed.
    follow();
    onChange();
  }

  function look(): void {
    follow();
    if (waiting === undefined && hasChanged()) noteChange();
    next = setTimeout(look, isBlind ? LOOK_EVERY_WHEN_BLIND_MS : LOOK_EVERY_MS).unref();
  }

  /** Watches the folders that matter now: what is at a path can have become another folder. */
  function follow(): void {
    const wanted = findFolders(folders);
    for (const [folder, { id, watcher }] of watched) {
      if (wanted.has(folder) && identify(folder) === id) continue;
      watcher.close();
      watched.delete(folder);
    }
    for (const [folder, matters] of wanted) {
      const known = watched.get(folder);
      if (known === undefined) open(folder, matters);
      else known.matters = matters;
    }
  }

  function open(folder: string, matters: Matters): void {
    try {
      const id = identify(folder);
      const watcher = watchFolder(folder, { persistent: false }, (_event, name) => {
        // A folder that is moved tells its own name.
        if (name === null || name === basename(folder) || entry.matters(name)) noteChange();
      });
      const entry: Watched = { id, watcher, matters };
      watcher.on("error", (error) => {
        watcher.close();
        watched.delete(folder);
        goBlind(folder, error);
      });
      watched.set(folder, entry);
    } catch (error) {
      goBlind(folder, error);
    }
  }

  function goBlind(folder: string, error: unknown): void {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    // It went in this moment.
    if (code === "ENOENT" || code === "ENOTDIR") return;
    if (isBlind) return;
    isBlind = true;
    report(
      `Cannot watch the folder "${folder}" (${code}), and looks every ${LOOK_EVERY_WHEN_BLIND_MS / 1000} s instead.`,
    );
  }

  return {
    start: () => void (next = setTimeout(look, START_DELAY_MS).unref()),
    close() {
      clearTimeout(next);
      clearTimeout(waiting?.timer);
      for (const { watcher } of watched.values()) watcher.close();
      watched.clear();
    },
  };
}

/** Whether a name in a folder is one to look out for. */
type Matters = (name: string) => boolean;

type Watched = { readonly id: string | undefined; readonly watcher: FSWatcher; matters: Matters };

function findFolders(folders: readonly WatchedFolder[]): ReadonlyMap<string, Matters> {
  const names = new Map<string, Set<string>>();
  const endings = new Map<string, Set<string>>();
  const addWay = (path: string): string | undefined => {
    const { places, real } = findTurningPoints(path);
    for (const { folder, name } of places) add(names, folder, name);
    return real;
  };
  for (const { ending, path } of folders) {
    const real = addWay(path);
    if (real === undefined) continue;
    add(endings, real, ending);
    for (const link of findLinks(real, ending)) addWay(link);
  }
  const all = new Set([...names.keys(), ...endings.keys()]);
  return new Map(
    [...all].map((folder): [string, Matters] => [
      folder,
      (name) =>
        names.get(folder)?.has(name) === true || [...(endings.get(folder) ?? [])].some((end) => name.endsWith(end)),
    ]),
  );
}

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value));
}

function findLinks(folder: string, ending: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isSymbolicLink() && entry.name.endsWith(ending))
      .map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

function identify(folder: string): string | undefined {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
