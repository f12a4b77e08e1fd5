const FILES: ReadonlySet<string> = new Set([
  "HEAD",
  "ORIG_HEAD",
  "MERGE_HEAD",
  "MERGE_MODE",
  "MERGE_MSG",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "index",
  "packed-refs",
  "shallow",
  "info/exclude",
  "info/sparse-checkout",
  "info/attributes",
]);
const FOLDERS: ReadonlySet<string> = new Set(["refs", "objects"]);

/**
 * Returns true for a path of git's folder that a copy gets: its objects and what names them. Hooks, logs, which have addresses with passwords,
 * other worktrees, submodules and whatever else lies there stay out.
 */
export function isGitPart(path: string, kind: "folder" | "file"): boolean {
  const [first = ""] = path.split("/", 1);
  if (path.endsWith(".lock") || path.startsWith("objects/info/alternates") || path === "objects/info/http-alternates") {
    return false;
  }
  if (FOLDERS.has(first)) return kind === "folder" || path !== first;
  return kind === "folder" ? path === "info" : FILES.has(path) || /^sharedindex\.[0-9a-f]+$/.test(path);
}
