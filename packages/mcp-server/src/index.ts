// The public surface of @budgie/mcp-server: every export is named here, and becomes API.
export { buildRemoteAgent } from "./agents/build-remote-agent.ts";
export {
  findConfigFolder,
  findExistingFile,
  refuseMissing,
  resolvePath,
  mayExist,
  toBinary,
  toDefaultConfigFile,
  findKiroDataDir,
  findKiroFolder,
  findStateDir,
} from "./config/host-paths.ts";
export { findAwaitedAgents, refuseUnknownAgents, type Policies } from "./config/refuse-unknown-agents.ts";
export type { AgentNeeds, Settings, Variables, WorkspaceSettings } from "./config/settings.ts";
export { openUserFileTrust } from "./config/open-user-file-trust.ts";
export {
  checkSandboxOptions,
  findRefusedRemotes,
  pickSandboxSecrets,
  findUpstreamProxy,
} from "./config/check-sandbox-options.ts";
export { DEFAULT_MODEL, type ClusterSection, type ServerConfig } from "./config/server-config.ts";
export type { NamingOptions, SoftDeadline, ToolMode } from "./config/naming-options.ts";
export { withFlags } from "./config/with-flags.ts";
export { EXIT, chooseExitCode } from "./process/choose-exit-code.ts";
export type { Host, HostTerminal } from "./process/host.ts";
export { createShutdown } from "./process/shutdown.ts";
export { loadVersion } from "./process/load-version.ts";
export { serve } from "./serve.ts";
export type { HttpOptions } from "./server/create-tool-server.ts";
export { resolveAllowedRoots } from "./server/load-workspace-rules.ts";
