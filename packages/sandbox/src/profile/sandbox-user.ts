/**
 * The meaning on the host of a uid in a container. `same`: the same uid; `rootless`: the engine's own user for uid 0; `remapped`: an
 * unrelated uid.
 */
export type EngineUsers = "same" | "rootless" | "remapped";

/** The user that a sandbox runs as. */
export type SandboxUser = {
  readonly uid: number;
  readonly gid: number;
};

export type Caller = {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
};

/** Returns the caller's ids, so that files written in the workspace belong to the caller. */
export function chooseSandboxUser({ gid, uid }: Caller, users: EngineUsers): SandboxUser {
  // A rootless engine maps its user to uid 0; any other uid of the container has no rights in the workspace.
  if (users === "rootless") return { uid: 0, gid: 0 };
  // Windows has no ids; Docker Desktop there gives every file to the user.
  return { uid: uid ?? 1000, gid: gid ?? 1000 };
}

const ROOT =
  "Root started budgie: agents run as uid 0 in the sandbox, with every capability dropped. Start it as an ordinary user for one more layer of protection.";
const REMAPPED =
  "The engine remaps user ids, so agents are another user in the workspace: they can change only files that everybody may write.";

/** Lists the notices about the sandbox's user; empty for an ordinary caller and engine. */
export function listUserNotices({ uid }: Caller, users: EngineUsers = "same"): readonly string[] {
  return [...(uid === 0 ? [ROOT] : []), ...(users === "remapped" ? [REMAPPED] : [])];
}

/** Returns the workspace's group if it is a supplementary group of the caller: without it, group-writable projects would be read-only. */
export function listExtraGroups(
  workspaceGid: number,
  user: SandboxUser,
  callerGroups: readonly number[],
): readonly string[] {
  return workspaceGid !== user.gid && callerGroups.includes(workspaceGid) ? [String(workspaceGid)] : [];
}

/** Returns a passwd file that gives the uid a name and a home, without which some programs crash or ask questions. */
export function buildPasswd({ gid, uid }: SandboxUser): string {
  if (uid === 0) return "root:x:0:0:root:/home/agent:/bin/sh\n";
  return `root:x:0:0:root:/root:/bin/sh\nagent:x:${uid}:${gid}:agent:/home/agent:/bin/sh\n`;
}
