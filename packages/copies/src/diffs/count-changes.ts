import type { ChangeSet } from "../sets/change-set.ts";
import { findVerb } from "./render-change.ts";

/** The numbers and names by which a set is judged at a glance. */
export type ChangeCounts = {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Paths that only a person applies */
  readonly guarded: readonly string[];
  /** Paths that cannot be applied */
  readonly refused: readonly string[];
};

/** Counts the changes of a set, and lists those that need care. */
export function countChanges({ changes }: Pick<ChangeSet, "changes">): ChangeCounts {
  const count = (verb: ReturnType<typeof findVerb>): number =>
    changes.filter((change) => change.refused === undefined && findVerb(change) === verb).length;
  return {
    added: count("added"),
    changed: count("changed"),
    removed: count("removed"),
    guarded: changes.flatMap(({ guard, path, refused }) => (guard === "person" && refused === undefined ? [path] : [])),
    refused: changes.flatMap(({ path, refused }) => (refused === undefined ? [] : [path])),
  };
}

/** Returns the counts of a set as a sentence's part, such as "2 added, 1 changed". */
export function formatCounts({ added, changed, guarded, refused, removed }: ChangeCounts): string {
  const parts = [
    [added, "added"],
    [changed, "changed"],
    [removed, "removed"],
    [guarded.length, "guarded"],
    [refused.length, "not applicable"],
  ] as const;
  const named = parts.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  return named.join(", ") || "nothing that can be applied";
}
