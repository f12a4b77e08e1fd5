import { escapeUnseen } from "@budgie/copies/diffs";
import type { Change, StoredSet } from "@budgie/copies/sets";
import type { FoundOverlaps } from "./to-parallel-result.ts";

const MOST_NAMED = 20;

type Named = { readonly id: string; readonly change: Change };

/**
 * Finds the paths that more than one of these sets changes, each in its own way: the same entry, or one below an entry that another set
 * removes or replaces.
 */
export function findOverlaps(sets: readonly Pick<StoredSet, "id" | "set">[]): FoundOverlaps {
  const all = sets.flatMap(({ id, set }) => set.changes.map((change) => ({ id, change })));
  const byPath = new Map<string, Named[]>();
  for (const named of all) byPath.set(named.change.path, [...(byPath.get(named.change.path) ?? []), named]);
  const overlaps = new Map<string, Set<string>>();
  for (const named of all) {
    for (const path of listPaths(named.change.path)) {
      for (const other of byPath.get(path) ?? []) {
        if (other.id === named.id || !clashes(named, other)) continue;
        const ids = overlaps.get(named.change.path) ?? new Set();
        overlaps.set(named.change.path, ids.add(named.id).add(other.id));
      }
    }
  }
  const found = [...overlaps].map(([path, ids]) => ({ path: escapeUnseen(path), changeIds: [...ids] }));
  return { overlaps: found.slice(0, MOST_NAMED), more: Math.max(0, found.length - MOST_NAMED) };
}

/** Lists a path and the folders that it is in. */
function listPaths(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function clashes({ change }: Named, { change: other }: Named): boolean {
  if (change.path !== other.path) return other.after?.kind !== "folder" && change.after !== undefined;
  return JSON.stringify(change.after) !== JSON.stringify(other.after);
}
