import { GIT_EFFECTS, type Effect } from "./effect.ts";
import { isSameFingerprint } from "./fingerprint.ts";
import type { Snapshot } from "./snapshot.ts";

/** A path that was added, removed or changed, and its effect on the host. */
export type Change = { readonly path: string; readonly effect: Effect };

/** Lists the differences between two snapshots, where both of them looked. Git's come first, the most dangerous at the top. */
export function compareSnapshots(before: Snapshot, after: Snapshot): readonly Change[] {
  const [mayHaveBeen, mayBe] = [toDoubt(before), toDoubt(after)];
  const paths = new Set([...before.notes.keys(), ...after.notes.keys()]);
  return [...paths]
    .filter((path) => !isSameFingerprint(before.notes.get(path)?.fingerprint, after.notes.get(path)?.fingerprint))
    .filter((path) => (before.notes.has(path) || !mayHaveBeen(path)) && (after.notes.has(path) || !mayBe(path)))
    .toSorted()
    .map((path) => ({ path, effect: (after.notes.get(path) ?? before.notes.get(path))?.effect ?? "plain" }))
    .toSorted((one, other) => toRank(one.effect) - toRank(other.effect));
}

/** Tells of paths that a snapshot lacks whether they may have been there all the same; it judges each folder once. */
function toDoubt({ unread }: Snapshot): (path: string) => boolean {
  const folders = new Map<string, boolean>();

  function isInUnread(path: string): boolean {
    const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
    const isUnread = folders.get(folder) ?? isUnknown(folder);
    folders.set(folder, isUnread);
    return isUnread;
  }

  function isUnknown(path: string): boolean {
    return unread.has(path) || (path !== "" && isInUnread(path));
  }

  return (path) => unread.size > 0 && isUnknown(path);
}

function toRank(effect: Effect): number {
  const rank = GIT_EFFECTS.indexOf(effect);
  return rank === -1 ? GIT_EFFECTS.length : rank;
}
