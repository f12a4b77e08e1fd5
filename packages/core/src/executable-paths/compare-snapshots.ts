import { GIT_EFFECTS, type Effect } from "./effect.ts";
import { isSameFingerprint } from "./fingerprint.ts";
import type { Snapshot } from "./snapshot.ts";

/** A path that was added, removed or changed, and its effect on the host. */
export type Change = { readonly path: string; readonly effect: Effect };

/** Lists the differences between two snapshots, where both of them looked. Git's come first, the most dangerous at the top. */
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
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
    if (unread.has(path.slice(0, end))) return true;
  }
  return unread.has(path);
}

function toRank(effect: Effect): number {
  const rank = GIT_EFFECTS.indexOf(effect);
  return rank === -1 ? GIT_EFFECTS.length : rank;
}
