import type { Change } from "./change-set.ts";
import type { SetBounds } from "./set-bounds.ts";

/** Creates the list of changes, by path: an entry that is there twice takes the place of the first. */
export function createFoundChanges({ changes: most, nameBytes }: SetBounds) {
  const changes = new Map<string, Change>();
  let [omitted, left] = [0, nameBytes];
  return {
    add(change: Change | undefined): void {
      if (change === undefined) return;
      const isKnown = changes.has(change.path);
      const bytes = isKnown ? 0 : countNames(change);
      if (isKnown || (changes.size < most && bytes <= left)) {
        left -= bytes;
        changes.set(change.path, change);
      } else omitted += 1;
    },
    list: () => [...changes.values()],
    countOmitted: () => omitted,
  };
}

/** Counts the bytes that an agent chose in the record of a change. */
function countNames({ after, before, path }: Change): number {
  const targets = [before, after].map((side) => (side?.kind === "link" ? side.target : ""));
  return Buffer.byteLength([path, ...targets].join(""));
}
