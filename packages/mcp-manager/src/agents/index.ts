// The public surface of @budgie/mcp-manager/agents: every export is named here, and becomes API.
export {
  findServer,
  findServers,
  findServersOf,
  type FoundServer,
  type McpChoice,
  type UsableServer,
} from "./find-servers.ts";
export { storePins, type PinnedEntry, type WaitingServer } from "./find-unallowed.ts";
export type { ServersConfig } from "./servers-config.ts";
