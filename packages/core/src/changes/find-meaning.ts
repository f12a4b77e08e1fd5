import { toPathKey, type FolderPath } from "../walk/folder-path.ts";
import { isForge, findNameKind, type FolderKind, type NameKind } from "./name-kind.ts";
import type { GitPaths } from "./find-git-paths.ts";

/** Creates a function that returns the meaning of a name in a folder. A path that git's own files name counts, whatever it is called. */
export function createFindMeaning(
  { inside }: GitPaths,
  folder: FolderPath,
): (name: string, kind: FolderKind) => NameKind {
  const path = Buffer.from(toPathKey(folder), "latin1").toString("utf8");
  if (inside.size === 0 || (path !== "" && !inside.has(path))) return findNameKind;
  return (name, kind) => {
    const meaning = findNameKind(name, kind);
    const lead = inside.get(path === "" ? name : `${path}/${name}`);
    if (lead === "named" && meaning !== "git") return "named";
    return lead === "on-the-way" && meaning === "none" ? "on-the-way" : meaning;
  };
}

/** Finds the kind of a folder from its name, its meaning and its parent's kind; `undefined` if it is of no interest. */
export function findFolderKind(name: string, meaning: NameKind, folder: FolderKind): FolderKind | undefined {
  if (meaning === "enter" || meaning === "package") return isForge(name) ? "forge" : "plain";
  if (meaning === "git") return folder === "worktrees" ? "worktree" : "git";
  return FOLDER_KINDS.get(meaning);
}

const FOLDER_KINDS: ReadonlyMap<NameKind, FolderKind> = new Map<NameKind, FolderKind>([
  ["watched", "watched"],
  ["hooks", "hooks"],
  ["worktrees", "worktrees"],
  // Named by core.hooksPath.
  ["named", "hooks"],
  ["on-the-way", "rest"],
]);
