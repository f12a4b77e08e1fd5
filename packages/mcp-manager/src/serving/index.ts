// The public surface of @budgie/mcp-manager/serving: every export is named here, and becomes API. A start of a server loads no more than this.
export { createAgentServers } from "./agent-servers.ts";
export { serveMcpServers, withStep } from "./serve-mcp-servers.ts";
export { needsCopy } from "./write-shown-file.ts";
