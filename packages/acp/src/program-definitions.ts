import { KIRO_DEFINITIONS, type Command } from "@budgie/core";

const NO_SERVERS = { content: '{ "mcpServers": {} }\n' };

/**
 * The entries of a repository from which the known programs, Kiro among them, take agents, MCP servers, settings and hooks. A
 * sandbox hides them, so that no repository redefines the agent that works in it. Files that only tell an agent about a project, such
 * as `AGENTS.md`, are not hidden.
 */
export const PROGRAM_DEFINITIONS: NonNullable<Command["hidden"]> = {
  ...KIRO_DEFINITIONS,
  ".claude": "empty folder",
  ".codex": "empty folder",
  ".gemini": "empty folder",
  // Copilot's. Workflows and instructions stay.
  ".github": {
    entries: {
      agents: "empty folder",
      copilot: "empty folder",
      hooks: "empty folder",
      "lsp.json": { content: '{ "lspServers": {} }\n' },
      "mcp.json": NO_SERVERS,
    },
  },
  ".mcp.json": NO_SERVERS,
  ".opencode": "empty folder",
  ".qwen": "empty folder",
  "opencode.json": { content: "{}\n" },
  "opencode.jsonc": { content: "{}\n" },
};
