// The files of one worktree, which lie in a folder of their own if there are several.
const OWN_FILES: ReadonlySet<string> = new Set([
  "HEAD",
  "ORIG_HEAD",
  "MERGE_HEAD",
  "MERGE_MODE",
  "MERGE_MSG",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "index",
]);
const COMMON_FILES: ReadonlySet<string> = new Set([
  "packed-refs",
  "shallow",
  "info/exclude",
  "info/sparse-checkout",
  "info/attributes",
]);
const SHARED_INDEX = /^sharedindex\.[0-9a-f]+$/;
const FOLDERS: ReadonlySet<string> = new Set(["refs", "objects"]);

/** The part of git that a folder has: all of it, or for a worktree its own files, or what it shares with others. */
export type GitPart = "whole" | "own" | "common";

/**
 * Returns true for a path of git's folder that a copy gets: its objects and what names them. Hooks, logs, which have addresses with passwords,
 * other worktrees, submodules and whatever else lies there stay out.
 */
export function isGitPart(path: string, kind: "folder" | "file", part: GitPart = "whole"): boolean {
  const isOwn = OWN_FILES.has(path) || SHARED_INDEX.test(path);
  if (part === "own" || (isOwn && kind === "file")) return isOwn && kind === "file" && part !== "common";
  const [first = ""] = path.split("/", 1);
  if (path.endsWith(".lock") || path.startsWith("objects/info/alternates") || path === "objects/info/http-alternates") {
    return false;
  }
  if (FOLDERS.has(first)) return kind === "folder" || path !== first;
  return kind === "folder" ? path === "info" : COMMON_FILES.has(path);
}
