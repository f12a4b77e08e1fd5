import type { Manifest, TreeEntry } from "@budgie/core/copies";
import { findReferenceBytes } from "../git/read-references.ts";
import type { KnownFile } from "../selection/read-entries.ts";
import type { SelectedEntry, Selection } from "../selection/selection.ts";

/** The files of directories as they were read last, so that those that have not changed since need not be read again. */
export type KnownFiles = {
  /** Returns a function that finds a file of the directory which is as it was when it was read, by what lstat says of it. */
  readonly of: (directory: string) => (selected: SelectedEntry) => KnownFile | undefined;
  /** Keeps what was read of a selection, which was begun at this time in milliseconds since 1970. */
  readonly keep: (selection: Selection, manifest: Manifest, startedMs: number) => void;
  readonly forget: (directory: string) => void;
};

type Known = { readonly seen: NonNullable<SelectedEntry["seen"]>; readonly mtimeMs: number; readonly file: KnownFile };

// Some megabytes.
const MOST_KNOWN = 50_000;
// The kernel's times of files are a little older than the clock.
const CLOCK_MS = 1000;

/** Creates the table, which is empty. */
export function createKnownFiles(): KnownFiles {
  // The oldest first.
  const directories = new Map<string, ReadonlyMap<string, Known>>();
  const count = (): number => [...directories.values()].reduce((sum, files) => sum + files.size, 0);
  return {
    of(directory) {
      const files = directories.get(directory);
      return ({ entry, mtimeMs, seen }) => {
        const known = files?.get(entry.path);
        if (known === undefined || seen === undefined || entry.kind !== "file") return undefined;
        const { file, ...before } = known;
        const isSame =
          seen.inode === before.seen.inode &&
          seen.changedMs === before.seen.changedMs &&
          mtimeMs === before.mtimeMs &&
          entry.size === file.size &&
          entry.mode === file.mode;
        return isSame ? file : undefined;
      };
    },
    keep({ directory, entries }, manifest, startedMs) {
      const digests = new Map(manifest.entries.map((entry) => [entry.path, entry]));
      const files = new Map<string, Known>();
      for (const selected of entries) {
        const known = toKnown(selected, digests.get(selected.entry.path), startedMs);
        if (known !== undefined) files.set(selected.entry.path, known);
      }
      directories.delete(directory);
      directories.set(directory, files);
      for (const oldest of directories.keys()) {
        if (count() <= MOST_KNOWN) break;
        directories.delete(oldest);
      }
    },
    forget: (directory) => void directories.delete(directory),
  };
}

/** Returns what is known of a file. One that was just changed could change again without another time. */
function toKnown(
  { entry, mtimeMs, seen }: SelectedEntry,
  read: TreeEntry | undefined,
  startedMs: number,
): Known | undefined {
  if (seen === undefined || seen.changedMs >= startedMs - CLOCK_MS) return undefined;
  if (entry.kind !== "file" || read?.kind !== "file" || read.size !== entry.size) return undefined;
  // The commits that references name are read each time.
  return findReferenceBytes(entry.path) === undefined ? { seen, mtimeMs, file: read } : undefined;
}
