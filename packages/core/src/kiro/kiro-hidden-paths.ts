import type { HiddenPaths } from "../runner/hidden-paths.ts";

/**
 * The paths from which Kiro, or its predecessor Amazon Q, takes an agent's definition: agents, MCP servers, settings and hooks. A
 * sandbox hides them. Paths that Kiro reads as context, such as `.kiro/steering`, are not hidden.
 */
export const KIRO_HIDDEN_PATHS: HiddenPaths = {
  ".kiro": { entries: { agents: "empty folder", settings: "empty folder", hooks: "empty folder" } },
  ".amazonq": { entries: { "cli-agents": "empty folder", "mcp.json": { content: '{ "mcpServers": {} }\n' } } },
  // A file here could give the agent more tools in its next turn.
  "~/.kiro/agents": "empty folder",
};
