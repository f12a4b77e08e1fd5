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
const ALTERNATES: ReadonlySet<string> = new Set(["objects/info/alternates", "objects/info/http-alternates"]);
const SHARED_INDEX = /^sharedindex\.[0-9a-f]+$/;
const FOLDERS: ReadonlySet<string> = new Set(["refs", "objects"]);

/** The part of git that a folder has: all of it, or for a worktree its own files, or what it shares with others. */
export type GitPart = "whole" | "own" | "common";

/**
 * Returns true for a path of git's folder that a copy gets: its objects and what names them. Hooks, logs, which have addresses with passwords,
 * other worktrees, submodules and whatever else lies there stay out.
 */
export function isGitPart(path: string, kind: "folder" | "file", part: GitPart = "whole"): boolean {
  return kind === "folder" ? part !== "own" && isGitFolder(path) : isGitFile(path, part);
}

function isGitFolder(path: string): boolean {
  return path === "info" || FOLDERS.has(firstOf(path));
}

function isGitFile(path: string, part: GitPart): boolean {
  if (OWN_FILES.has(path) || SHARED_INDEX.test(path)) return part !== "common";
  if (part === "own" || path.endsWith(".lock") || ALTERNATES.has(path)) return false;
  return COMMON_FILES.has(path) || FOLDERS.has(firstOf(path));
}

function firstOf(path: string): string {
  return path.split("/", 1)[0] ?? "";
}
