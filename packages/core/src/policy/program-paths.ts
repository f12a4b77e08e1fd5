import { splitHidden, type Cover, type HiddenPaths } from "./hidden-paths.ts";

const NO_SERVERS = { content: '{ "mcpServers": {} }\n' };
// An empty map in JSON and in YAML.
const NO_SETTINGS = { content: "{}\n" };

/**
 * The paths of a repository, and of a session's home, that programs run or read as configuration, by program: agents, MCP servers,
 * settings, hooks and plugins. It is the only such list: a sandbox hides them, so that no repository redefines the agent that works in it,
 * and a turn reports and protects them. Files that only tell an agent about a project, such as `AGENTS.md`, are not listed.
 */
export const PROGRAM_PATHS = {
  kiro: {
    // Paths that Kiro reads as context, such as `.kiro/steering`, stay visible.
    ".kiro": {
      entries: {
        agents: "empty folder",
        settings: "empty folder",
        hooks: "empty folder",
        workflows: "empty folder",
      },
    },
    // Paths of Kiro's predecessor, Amazon Q.
    ".amazonq": { entries: { "cli-agents": "empty folder", "mcp.json": NO_SERVERS } },
    // A file in one of these could give the agent more tools or permissions in its next turn.
    "~/.kiro/agents": "empty folder",
    "~/.kiro/hooks": "empty folder",
    "~/.kiro/workflows": "empty folder",
    "~/.kiro/workspace-roots": "empty folder",
    // Kiro's open ancestor makes its settings file if there is none, which fails here.
    "~/.kiro/settings": { files: { "cli.json": '{ "telemetry.enabled": false }\n' } },
  },
  codex: { ".codex": "empty folder" },
  claude: { ".claude": "empty folder", ".mcp.json": NO_SERVERS },
  cursor: { ".cursor": "empty folder" },
  // The editor's other settings stay visible.
  vscode: { ".vscode": { entries: { "mcp.json": { content: '{ "servers": {} }\n' } } } },
  gemini: { ".gemini": "empty folder" },
  qwen: { ".qwen": "empty folder" },
  opencode: { ".opencode": "empty folder", "opencode.json": NO_SETTINGS, "opencode.jsonc": NO_SETTINGS },
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
  kilo: {
    ".kilo": "empty folder",
    ".kilocode": "empty folder",
    "kilo.json": NO_SETTINGS,
    "kilo.jsonc": NO_SETTINGS,
  },
  cline: {
    ".cline": "empty folder",
    // Its rules, which are text, stay visible: files beside its hooks, or this one file.
    ".clinerules": { entries: { hooks: "empty folder" }, mayBeFile: true },
  },
  "fast-agent": {
    ".fast-agent": "empty folder",
    "fast-agent.yaml": NO_SETTINGS,
    "fast-agent.config.yaml": NO_SETTINGS,
    "fast-agent.secrets.yaml": NO_SETTINGS,
    "fastagent.config.yaml": NO_SETTINGS,
    "fastagent.secrets.yaml": NO_SETTINGS,
  },
} as const satisfies Readonly<Record<string, HiddenPaths>>;

/** The paths from which Kiro takes an agent's definition. */
export const KIRO_HIDDEN_PATHS: HiddenPaths = PROGRAM_PATHS.kiro;

/** The paths of all programs, for a program that may read the settings of others. */
export const ALL_HIDDEN_PATHS: HiddenPaths = Object.assign({}, ...Object.values(PROGRAM_PATHS));

/** The paths of all programs in a repository. */
export const REPOSITORY_PATHS: Readonly<Record<string, Cover>> = splitHidden({ hidden: ALL_HIDDEN_PATHS }).ofWorkspace;
