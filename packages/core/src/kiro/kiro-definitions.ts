import type { Command } from "../runner/runner.ts";

/**
 * The paths in its working folder from which Kiro, or its predecessor Amazon Q, takes an agent's definition: agents, MCP
 * servers, settings and hooks. A sandbox hides them. Paths that Kiro reads as context, such as `.kiro/steering`, are not hidden.
 */
export const KIRO_DEFINITIONS: NonNullable<Command["hidden"]> = {
  ".kiro": { entries: { agents: "empty folder", settings: "empty folder", hooks: "empty folder" } },
  ".amazonq": { entries: { "cli-agents": "empty folder", "mcp.json": { content: '{ "mcpServers": {} }\n' } } },
};
