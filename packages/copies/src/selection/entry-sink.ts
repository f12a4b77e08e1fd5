import type { FolderPath } from "@budgie/core/walk";
import type { CopyTally } from "./copy-bounds.ts";
import type { SelectedEntry } from "./selection.ts";

/** The entries that were selected so far. */
export type EntrySink = {
  readonly add: (entry: SelectedEntry) => void;
  /** Adds a folder once something in it is added */
  readonly addLater: (path: FolderPath, entry: SelectedEntry) => void;
  /** Adds a part of git's folder, whose size is judged at the end */
  readonly addGit: (entry: SelectedEntry) => void;
  readonly gitBytes: () => number;
  /** The number of its parts; only as many are held as the copy may have entries */
  readonly gitEntries: () => number;
  readonly dropGit: () => void;
  /** Lists all, sorted by the bytes of their paths */
  readonly list: () => readonly SelectedEntry[];
};

/** Creates an empty list. It stops growing once there is too much, and only counts on. */
export function createEntrySink(tally: CopyTally, mostGit: number): EntrySink {
  const entries: SelectedEntry[] = [];
  const waiting = new Map<FolderPath, SelectedEntry>();
  let git: SelectedEntry[] = [];
  let [gitBytes, gitEntries] = [0, 0];

  function put(entry: SelectedEntry): void {
    tally.add(entry);
    if (tally.isWithin()) entries.push(entry);
  }

  function add(entry: SelectedEntry): void {
    for (let at: FolderPath | undefined = entry.folder; at !== undefined; at = at.parent) {
      const parent = waiting.get(at);
      waiting.delete(at);
      if (parent !== undefined) put(parent);
    }
    put(entry);
  }

  return {
    add,
    addLater: (path, entry) => void waiting.set(path, entry),
    addGit(entry) {
      gitBytes += entry.entry.kind === "file" ? entry.entry.size : 0;
      gitEntries += 1;
      if (gitEntries <= mostGit) git.push(entry);
    },
    gitBytes: () => gitBytes,
    gitEntries: () => gitEntries,
    dropGit: () => void (git = []),
    list() {
      for (const entry of git) put(entry);
      git = [];
      return entries.toSorted((one, other) => compareByBytes(one.entry.path, other.entry.path));
    },
  };
}

/** Compares texts by their bytes in UTF-8, which differ from JavaScript's order only for characters in two halves. */
export function compareByBytes(one: string, other: string): number {
  if (one === other) return 0;
  if (SURROGATE.test(one) || SURROGATE.test(other)) return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : 1;
}

const SURROGATE = /[\uD800-\uDFFF]/;
