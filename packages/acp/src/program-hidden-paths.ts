import { KIRO_HIDDEN_PATHS, type HiddenPaths } from "@budgie/core";

const NO_SERVERS = { content: '{ "mcpServers": {} }\n' };

/**
 * The entries of a repository from which the known programs take agents, MCP servers, settings and hooks, by program. A sandbox
 * hides them, so that no repository redefines the agent that works in it. Files that only tell an agent about a project, such as
 * `AGENTS.md`, are not hidden.
 */
export const PROGRAM_HIDDEN_PATHS = {
  codex: { ".codex": "empty folder" },
  claude: { ".claude": "empty folder", ".mcp.json": NO_SERVERS },
  gemini: { ".gemini": "empty folder" },
  qwen: { ".qwen": "empty folder" },
  opencode: {
    ".opencode": "empty folder",
    "opencode.json": { content: "{}\n" },
    "opencode.jsonc": { content: "{}\n" },
  },
  copilot: {
    // Workflows and instructions stay visible.
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
  },
  "kiro-acp": KIRO_HIDDEN_PATHS,
} as const satisfies Readonly<Record<string, HiddenPaths>>;

/** The hidden paths of all programs, for a program that may read the settings of others. */
export const ALL_HIDDEN_PATHS: HiddenPaths = Object.assign({}, ...Object.values(PROGRAM_HIDDEN_PATHS));
