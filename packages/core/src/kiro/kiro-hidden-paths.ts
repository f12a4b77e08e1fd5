import type { HiddenPaths } from "../runner/hidden-paths.ts";

/**
 * The paths from which Kiro, or its predecessor Amazon Q, takes an agent's definition: agents, MCP servers, settings, hooks and workflows. A
 * sandbox hides them. Paths that Kiro reads as context, such as `.kiro/steering`, are not hidden.
 */
export const KIRO_HIDDEN_PATHS: HiddenPaths = {
  ".kiro": {
    entries: {
      agents: "empty folder",
      settings: "empty folder",
      hooks: "empty folder",
      workflows: "empty folder",
    },
  },
  ".amazonq": { entries: { "cli-agents": "empty folder", "mcp.json": { content: '{ "mcpServers": {} }\n' } } },
  // A file in one of these could give the agent more tools or permissions in its next turn.
  "~/.kiro/agents": "empty folder",
  "~/.kiro/hooks": "empty folder",
  "~/.kiro/workflows": "empty folder",
  "~/.kiro/workspace-roots": "empty folder",
  // Kiro's open ancestor makes its settings file if there is none, which fails here.
  "~/.kiro/settings": { files: { "cli.json": '{ "telemetry.enabled": false }\n' } },
};
