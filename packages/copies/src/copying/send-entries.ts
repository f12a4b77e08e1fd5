import type { FilledEntry, TreeEntry, WorkspaceCopy } from "@budgie/core/copies";
import { readEntries, TORN } from "../selection/read-entries.ts";
import type { Selection } from "../selection/selection.ts";
import type { Base } from "./base-files.ts";
import { createReferences, watchFill } from "./references.ts";

/** A file that changes all the time must not keep a turn from its start. */
const ATTEMPTS = 3;

export type Sending = {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress: (done: number, all: number) => void;
  /** Adds entries of others, for each attempt; default none */
  readonly join?: ((entries: AsyncIterable<FilledEntry>) => AsyncIterable<FilledEntry>) | undefined;
};

/** Sends the selected entries; again if a file changed that was too large to be read at once. Its manifest has these alone. */
export async function sendEntries(
  copy: WorkspaceCopy,
  selection: Selection,
  { join = (entries) => entries, onProgress, signal }: Sending,
): Promise<Pick<Base, "fillId" | "manifest" | "tips">> {
  for (let left = ATTEMPTS; ; left--) {
    const entries: TreeEntry[] = [];
    const references = createReferences("directory");
    const all = selection.entries.length;
    onProgress(0, all);
    const reading = readEntries(selection, {
      signal,
      onEntry: (entry) => void entries.push(entry),
      onProgress: ({ entries: done }) => onProgress(done, all),
    });
    try {
      const fillId = await copy.fill(join(watchFill(reading, references)), { signal });
      return { fillId, tips: references.tips(), manifest: { entries } };
    } catch (error) {
      if (left === 1 || (error as NodeJS.ErrnoException).code !== TORN) throw error;
    }
  }
}
