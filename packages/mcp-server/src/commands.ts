// The public surface of @budgie/mcp-server/commands, for commands beside the server: a start of the server loads none of it early.
export { createAddressFetch } from "./agent-servers/address-fetch.ts";
export { needsCopy } from "./agent-servers/write-shown-file.ts";
export { connectAt } from "./agent-servers/connect-at.ts";
export {
  findServer,
  findServers,
  findServersOf,
  type FoundServer,
  type McpChoice,
  type UsableServer,
} from "./agent-servers/find-servers.ts";
export { serveMcpServers, withStep } from "./agent-servers/serve-mcp-servers.ts";
export { storePins, type PinnedEntry, type WaitingServer } from "./agent-servers/find-unallowed.ts";
export { createServerSandboxes, type ServerSandboxes } from "./agent-servers/server-sandboxes.ts";
export { createUserLogins } from "./agent-servers/user-logins.ts";
export { acceptAgents } from "./agents/accept-agents.ts";
export { findHiddenFiles } from "./agents/find-problems.ts";
export { buildProgram, createBuildCommand, type BuildCommand } from "./agents/create-protocols.ts";
export { listVariables } from "./agents/fill-headers.ts";
export { withKagentAgent, withKagentAgents } from "./agents/kagent-agents.ts";
export { loadTools } from "./agents/load-tools.ts";
export { findMissingVariables, findPolicy, findProvided, findWorkspace } from "./config/settings.ts";
export { toAgentsResult } from "./mcp/calls/to-agents-result.ts";
export { formatRemedy, remarkFailed, formatRefused } from "./mcp/calls/format-refused.ts";
export { remarkCopy } from "./mcp/calls/remark-copy.ts";
export { formatProgress } from "./mcp/calls/progress.ts";
export { toErrorResult, toReplyResult } from "./mcp/calls/to-reply-result.ts";
export { buildLongCallTools } from "./mcp/long-calls/build-long-call-tools.ts";
export { byName } from "./mcp/names/find-tool.ts";
export { toToolName } from "./mcp/names/tool-name.ts";
export type { Tool, ToolOptions } from "./mcp/tools/tool.ts";
export { buildTools } from "./mcp/tools/build-tools.ts";
export { createRunner } from "./server/create-runner.ts";
export { createTurns, type Turns } from "./server/create-turns.ts";
