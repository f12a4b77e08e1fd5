import { isAbsolute, join } from "node:path";
import { findConfigFolder, findKiroFolder, type Host } from "@budgie/mcp-server";
import type { Entry } from "./config-format.ts";

/** The clients that budgie can configure. */
export const CLIENT_NAMES = [
  "kiro",
  "claude",
  "cursor",
  "vscode",
  "codex",
  "gemini",
  "qwen",
  "opencode",
  "copilot",
] as const;

export type ClientName = (typeof CLIENT_NAMES)[number];

/** The scopes of a configuration: all projects of a user, or one directory and everybody who shares it. */
export const SCOPES = ["user", "project"] as const;

export type Scope = (typeof SCOPES)[number];

type ClientHost = Pick<Host, "env" | "home" | "platform">;

/** The place and form of a client's server entries; docs/clients.md has the evidence. */
export type Client = {
  readonly title: string;
  readonly format: "json" | "toml";
  /** The key of the table of servers */
  readonly servers: string;
  readonly toUserFile: (place: ClientHost) => string;
  /** Relative to the project */
  readonly projectFile: string;
  readonly type?: "stdio" | "local";
  /** `true` if `command` is a list with the arguments */
  readonly joinsArguments?: boolean;
  /** Further keys of an entry, such as timeouts */
  readonly keys: Entry;
  /** `true` if a dot in a tool's name is a problem for its models or its user */
  readonly wantsSafeNames: boolean;
  /** A sentence on anything that its user must do before the server starts */
  readonly advice?: string;
};

// An hour is longer than queueing, two attempts and a second request for the answer.
const HOUR = { seconds: 3600, ms: 3_600_000 };

/** Finds a client by budgie's name for it, or by the program's, such as `claude-code`; `undefined` for others. */
export function findClient(given: string): ClientName | undefined {
  const wanted = simplify(given);
  return CLIENT_NAMES.find((name) => name === wanted || simplify(CLIENTS[name].title) === wanted);
}

function simplify(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}

export const CLIENTS: Readonly<Record<ClientName, Client>> = {
  kiro: {
    title: "Kiro",
    format: "json",
    servers: "mcpServers",
    toUserFile: (place) => join(findKiroFolder(place), "settings", "mcp.json"),
    projectFile: join(".kiro", "settings", "mcp.json"),
    keys: { timeout: HOUR.ms },
    wantsSafeNames: true,
  },
  claude: {
    title: "Claude Code",
    format: "json",
    servers: "mcpServers",
    toUserFile: ({ env, home }) => join(checkFolder(env["CLAUDE_CONFIG_DIR"]) ?? home, ".claude.json"),
    projectFile: ".mcp.json",
    type: "stdio",
    keys: { timeout: HOUR.ms },
    wantsSafeNames: false,
  },
  cursor: {
    title: "Cursor",
    format: "json",
    servers: "mcpServers",
    toUserFile: ({ home }) => join(home, ".cursor", "mcp.json"),
    projectFile: join(".cursor", "mcp.json"),
    keys: {},
    wantsSafeNames: true,
  },
  vscode: {
    title: "VS Code",
    format: "json",
    servers: "servers",
    toUserFile: (place) => join(findCodeFolder(place), "User", "mcp.json"),
    projectFile: join(".vscode", "mcp.json"),
    type: "stdio",
    keys: {},
    wantsSafeNames: true,
  },
  codex: {
    title: "Codex",
    format: "toml",
    servers: "mcp_servers",
    toUserFile: ({ env, home }) => join(checkFolder(env["CODEX_HOME"]) ?? join(home, ".codex"), "config.toml"),
    projectFile: join(".codex", "config.toml"),
    // "codex exec" does not wait for other servers: one that starts slowly is missing, without a word.
    keys: { required: true, startup_timeout_sec: 60, tool_timeout_sec: HOUR.seconds },
    wantsSafeNames: false,
  },
  gemini: {
    title: "Gemini CLI",
    format: "json",
    servers: "mcpServers",
    toUserFile: ({ env, home }) => join(checkFolder(env["GEMINI_CLI_HOME"]) ?? home, ".gemini", "settings.json"),
    projectFile: join(".gemini", "settings.json"),
    keys: { timeout: HOUR.ms },
    wantsSafeNames: false,
    advice: `Gemini CLI starts no server in a folder that it does not trust: choose "Trust folder" when it asks.`,
  },
  qwen: {
    title: "Qwen Code",
    format: "json",
    servers: "mcpServers",
    toUserFile: ({ env, home }) => join(checkFolder(env["QWEN_HOME"]) ?? join(home, ".qwen"), "settings.json"),
    projectFile: join(".qwen", "settings.json"),
    keys: { timeout: HOUR.ms },
    wantsSafeNames: false,
  },
  opencode: {
    title: "opencode",
    format: "json",
    servers: "mcp",
    toUserFile: (host) => join(findConfigFolder(host), "opencode", "opencode.json"),
    projectFile: "opencode.json",
    type: "local",
    joinsArguments: true,
    // The start must fit into this timeout too
    keys: { timeout: HOUR.ms },
    wantsSafeNames: false,
  },
  copilot: {
    title: "Copilot CLI",
    format: "json",
    servers: "mcpServers",
    toUserFile: ({ env, home }) => join(checkFolder(env["COPILOT_HOME"]) ?? join(home, ".copilot"), "mcp-config.json"),
    // It reads .github/mcp.json too, but only in projects without this one.
    projectFile: ".mcp.json",
    type: "stdio",
    keys: { tools: ["*"], timeout: HOUR.ms },
    wantsSafeNames: true,
    advice: "Copilot CLI reads a project's servers in folders that it trusts only.",
  },
};

/** Returns the user folder of VS Code's stable edition. */
function findCodeFolder({ env, home, platform }: ClientHost): string {
  const portable = checkFolder(env["VSCODE_PORTABLE"]);
  if (portable !== undefined) return join(portable, "user-data");
  return join(checkFolder(env["VSCODE_APPDATA"]) ?? findAppData({ env, home, platform }), "Code");
}

function findAppData({ env, home, platform }: ClientHost): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return checkFolder(env["APPDATA"]) ?? join(home, "AppData", "Roaming");
  return findConfigFolder({ env, home });
}

/** Returns an absolute path, and ignores a relative one, which would depend on the working directory. */
function checkFolder(value: string | undefined): string | undefined {
  return value !== undefined && isAbsolute(value) ? value : undefined;
}
