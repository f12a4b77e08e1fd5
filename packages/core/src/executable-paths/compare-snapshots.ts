import type { Snapshot } from "./snapshot.ts";

/** The paths that were added, removed or changed between two snapshots, where both of them looked; in order. */
export function compareSnapshots(before: Snapshot, after: Snapshot): readonly string[] {
  const paths = new Set([...before.fingerprints.keys(), ...after.fingerprints.keys()]);
  return [...paths]
    .filter((path) => before.fingerprints.get(path) !== after.fingerprints.get(path))
    .filter((path) => !isUnknown(path, before) && !isUnknown(path, after))
    .toSorted();
}

function isUnknown(path: string, { unread }: Snapshot): boolean {
  if (unread.size === 0) return false;
  if (unread.has("")) return true;
  const parts = path.split("/");
  return parts.some((_, index) => unread.has(parts.slice(0, index + 1).join("/")));
}
