import type { ChangesReview } from "@budgie/core/errors";
import { isOpen, type StoredSet } from "../sets/change-sets.ts";

/** Finds the other sets for a set's directory that wait to be applied too, and change some of the same paths. */
export function findOverlaps({ id, root, set }: StoredSet, others: readonly StoredSet[]): ChangesReview["overlaps"] {
  const paths = new Set(set.changes.map(({ path }) => path));
  return others.flatMap((other) => {
    if (other.id === id || other.root !== root || !isOpen(other)) return [];
    const count = other.set.changes.filter(({ path }) => paths.has(path)).length;
    return count === 0 ? [] : [{ changeId: other.id, count }];
  });
}
