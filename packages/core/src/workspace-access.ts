/** The accesses that a user can ask for, the strictest first. */
export const WORKSPACE_MODES = ["ro", "copy", "rw"] as const;

/**
 * The access of a process to its workspace: the directory itself, read-only or writable, or a copy of it, writable or read-only. Nobody asks for
 * `ro-copy`: it is `ro` where only copies are allowed.
 */
export type WorkspaceAccess = (typeof WORKSPACE_MODES)[number] | "ro-copy";

/** Returns true for an access to a copy, with which a process sees nothing of the directory itself. */
export function usesCopy(access: WorkspaceAccess): access is "copy" | "ro-copy" {
  return access === "copy" || access === "ro-copy";
}

/** Returns true if the process may change nothing that it sees of its workspace. */
export function isReadOnly(access: WorkspaceAccess): boolean {
  return access === "ro" || access === "ro-copy";
}

/** Narrows an access; `undefined` if the wish exceeds it. */
export function narrowWorkspace(most: WorkspaceAccess, asked: WorkspaceAccess): WorkspaceAccess | undefined {
  // The files that a copy leaves out stay out of sight.
  if (asked === "ro" && usesCopy(most)) return "ro-copy";
  return ORDER.indexOf(asked) > ORDER.indexOf(most) ? undefined : asked;
}

const ORDER: readonly WorkspaceAccess[] = ["ro", "ro-copy", "copy", "rw"];
