// The public surface of @budgie/sandbox/profile: every export is named here, and becomes API.
export { CACHE_FOLDER, cacheEnvironment } from "./cache-environment.ts";
export type { Credentials } from "./credentials.ts";
export { findTakenPath } from "./find-taken-path.ts";
export { findWorkspacePath } from "./find-workspace-path.ts";
export { buildJavaTrustStore, JAVA_TRUST_STORE } from "./java-trust-store.ts";
export { CA_ENV, CA_FILE, JAVA_TRUST, PROXY, SERVICES_TARGET, SOCKETS_TARGET } from "./proxy-environment.ts";
export { SANDBOX } from "./sandbox-paths.ts";
export { buildSandboxVariables } from "./build-sandbox-variables.ts";
export {
  chooseSandboxUser,
  listExtraGroups,
  listUserNotices,
  type Caller,
  type EngineUsers,
  type SandboxUser,
} from "./sandbox-user.ts";
export { SECCOMP_PROFILE } from "./seccomp-profile.ts";
