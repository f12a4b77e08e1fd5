// The public surface of @budgie/core/policy: every export is named here, and becomes API.
export { loadMounts, parseMounts, type Mount } from "./load-mounts.ts";
export { noteDirectory, openFileTrust, type FileTrust } from "./file-trust.ts";
export { formatAccess } from "./format-access.ts";
export type { GitFolders } from "./git-folders.ts";
export { listGuardedPaths, type UserPaths } from "./list-guarded-paths.ts";
export { splitHidden, type Cover, type CoverEntry, type Hidden, type HiddenPaths } from "./hidden-paths.ts";
export { isWithin } from "./is-within.ts";
export {
  isTooDeep,
  findNesting,
  NESTING_FILE,
  NESTING_VARIABLES,
  nestingVariables,
  ROOT_SESSION_VARIABLE,
  type Nesting,
} from "./nesting.ts";
export {
  CACHE_TOOLS,
  DEFAULT_ACCESS,
  chooseDefaultLimits,
  narrowPolicy,
  listSandboxOnly,
  type Access,
  type CacheTool,
  type Limits,
  type Loosening,
  type Policy,
  type Service,
  type Tightening,
} from "./policy.ts";
export { ALL_HIDDEN_PATHS, KIRO_HIDDEN_PATHS, PROGRAM_PATHS } from "./program-paths.ts";
export { isReadOnly, usesCopy, WORKSPACE_MODES, type WorkspaceAccess } from "../workspace-access.ts";
export { findRefusal, type AllowedRoot, type GuardedPath, type WorkspaceRules } from "./workspace-rules.ts";
