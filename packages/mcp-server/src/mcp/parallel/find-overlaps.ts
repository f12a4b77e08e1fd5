import { escapeUnseen } from "@budgie/copies/diffs";
import type { Change, StoredSet } from "@budgie/copies/sets";
import type { FoundOverlaps } from "./to-parallel-result.ts";

const MOST_NAMED = 20;

/** The sets that leave the same entry at a path, or none. */
type Version = { readonly after: Change["after"]; readonly ids: Set<string> };

/**
 * Finds the paths that more than one of these sets changes, each in its own way: the same entry, or one below an entry that another set
 * removes or replaces.
 */
export function findOverlaps(sets: readonly Pick<StoredSet, "id" | "set">[]): FoundOverlaps {
  const byPath = groupByPath(sets);
  const found: { readonly path: string; readonly changeIds: readonly string[] }[] = [];
  for (const [path, versions] of byPath) {
    const own = [...versions.values()];
    const above = listFolders(path).flatMap((folder) => [...(byPath.get(folder)?.values() ?? [])]);
    const removing = own.some(({ after }) => after !== undefined)
      ? above.filter(({ after }) => after?.kind !== "folder")
      : [];
    const ids = new Set([...own, ...removing].flatMap((version) => [...version.ids]));
    const isOverlap = own.length > 1 || removing.some((version) => own.some((one) => !isOfSameSets(one, version)));
    if (isOverlap) found.push({ path, changeIds: [...ids] });
  }
  const named = found.slice(0, MOST_NAMED).map((each) => ({ ...each, path: escapeUnseen(each.path) }));
  return { overlaps: named, more: found.length - named.length };
}

function groupByPath(sets: readonly Pick<StoredSet, "id" | "set">[]): ReadonlyMap<string, Map<string, Version>> {
  const byPath = new Map<string, Map<string, Version>>();
  for (const { id, set } of sets) {
    for (const { after, path } of set.changes) {
      const versions = byPath.get(path) ?? new Map<string, Version>();
      byPath.set(path, versions);
      const key = JSON.stringify(after) ?? "";
      const version = versions.get(key) ?? { after, ids: new Set<string>() };
      versions.set(key, version);
      version.ids.add(id);
    }
  }
  return byPath;
}

/** Lists the folders that a path is in. */
function listFolders(path: string): readonly string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function isOfSameSets({ ids }: Version, other: Version): boolean {
  return ids.size === other.ids.size && [...ids].every((id) => other.ids.has(id));
}
