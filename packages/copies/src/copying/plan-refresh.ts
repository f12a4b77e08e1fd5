import type { Manifest, TreeEntry } from "@budgie/core/copies";
import { hasGitName } from "@budgie/core/guard";
import { advanceBase } from "../sets/advance-base.ts";
import type { Change } from "../sets/change-set.ts";

/** An entry of the directory as it was selected. */
type Selected = Pick<TreeEntry, "kind" | "path">;

/** The tree of a copy that takes over what changed in its directory. */
export type RefreshPlan = {
  /** Returns true for an entry of the directory that the copy gets */
  readonly isTaken: (entry: Selected) => boolean;
  /** The folders that are missing otherwise, in which one side has something */
  readonly folders: readonly string[];
  /** The paths of the directory for which the agent's changes leave no room */
  readonly crowdedOut: readonly string[];
};

/** Plans a copy that has everything of the agent's changes, and everything of the directory that is not in their way. */
export function planRefresh(directory: readonly Selected[], changes: readonly Change[]): RefreshPlan {
  const own = new Map(changes.map(({ after, path }) => [path, after?.kind ?? "removed"]));
  const needed = new Set(changes.flatMap(({ after, path }) => (after === undefined ? [] : listParents(path))));
  const isInOwnFile = (path: string): boolean =>
    listParents(path).some((parent) => own.get(parent) === "file" || own.get(parent) === "link");
  const isTaken = ({ kind, path }: Selected): boolean =>
    !own.has(path) && (kind === "folder" || !needed.has(path)) && !isInOwnFile(path);
  const taken = new Set(directory.filter(isTaken).map(({ path }) => path));
  const parents = [...taken].flatMap(listParents).filter((parent) => own.get(parent) === "removed");
  return {
    isTaken,
    folders: [...new Set([...needed, ...parents])].filter((path) => !taken.has(path) && own.get(path) !== "folder"),
    crowdedOut: directory.flatMap(({ path }) => (taken.has(path) || own.has(path) ? [] : [path])),
  };
}

function listParents(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

type Rebasing = {
  /** The base of the copy before */
  readonly old: Manifest;
  /** The entries of the directory that the copy got */
  readonly taken: readonly TreeEntry[];
  readonly folders: readonly string[];
  readonly changes: readonly Change[];
  /** The changes that the directory has too */
  readonly settled: readonly Change[];
};

/**
 * Returns the base of a refreshed copy: the directory as it is now, and where the agent changed something the old base, so that a conflict
 * stays one.
 */
export function rebase({ changes, folders, old, settled, taken }: Rebasing): Manifest {
  const kept = new Set([...folders, ...changes.map(({ path }) => path)]);
  return advanceBase({ entries: [...taken, ...old.entries.filter(({ path }) => kept.has(path))] }, settled);
}

/** Lists the paths that a copy has in another version than before, without those of git and those that the agent changed. */
export function listTaken(old: Manifest, fresh: Manifest, changes: readonly Change[]): readonly string[] {
  const own = new Set(changes.map(({ path }) => path));
  const [before, after] = [old, fresh].map(({ entries }) => new Map(entries.map((entry) => [entry.path, entry])));
  const paths = new Set([...old.entries, ...fresh.entries].map(({ path }) => path));
  return [...paths].filter(
    (path) => !own.has(path) && !hasGitName(path) && toFacts(before?.get(path)) !== toFacts(after?.get(path)),
  );
}

/** Returns a text that is the same for entries without a difference that a change set has. */
function toFacts(entry: TreeEntry | undefined): string | undefined {
  if (entry?.kind === "link") return `link ${entry.target}`;
  return entry?.kind === "file" ? `file ${(entry.mode & 0o111) !== 0} ${entry.digest}` : entry?.kind;
}
