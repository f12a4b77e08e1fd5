import { GIT_EFFECTS, type Effect } from "./effect.ts";
import { isSameFingerprint } from "./fingerprint.ts";
import type { Snapshot } from "./snapshot.ts";

/** A path that was added, removed or changed, and what the host does with it. */
export type Change = { readonly path: string; readonly effect: Effect };

/** What differs between two snapshots, where both of them looked: first what concerns git, the most surprising of it first. */
export function compareSnapshots(before: Snapshot, after: Snapshot): readonly Change[] {
  const paths = new Set([...before.notes.keys(), ...after.notes.keys()]);
  return [...paths]
    .filter((path) => !isSameFingerprint(before.notes.get(path)?.fingerprint, after.notes.get(path)?.fingerprint))
    .filter(
      (path) =>
        (before.notes.has(path) || !isUnknown(path, before)) && (after.notes.has(path) || !isUnknown(path, after)),
    )
    .toSorted()
    .map((path) => ({ path, effect: (after.notes.get(path) ?? before.notes.get(path))?.effect ?? "plain" }))
    .toSorted((one, other) => toRank(one.effect) - toRank(other.effect));
}

/** Whether a path that a snapshot lacks may have been there all the same. */
function isUnknown(path: string, { unread }: Snapshot): boolean {
  if (unread.size === 0) return false;
  if (unread.has("")) return true;
  const parts = path.split("/");
  return parts.some((_, index) => unread.has(parts.slice(0, index + 1).join("/")));
}

function toRank(effect: Effect): number {
  const rank = GIT_EFFECTS.indexOf(effect);
  return rank === -1 ? GIT_EFFECTS.length : rank;
}
