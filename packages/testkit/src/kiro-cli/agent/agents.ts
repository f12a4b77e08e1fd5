import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toExitError, toReason } from "../profile/exit-error.ts";
import { kiroFolder, resolveFrom } from "../profile/paths.ts";
import type { Profile, Settings } from "../profile/settings.ts";

export type KiroAgent = {
  readonly name: string;
  /** Path of its file; `undefined` for the built-in agent */
  readonly file: string | undefined;
  readonly tools: readonly string[];
  readonly allowedTools: readonly string[];
  readonly model: string | undefined;
  readonly hooks: Readonly<Record<string, readonly { readonly command: string }[]>>;
  readonly mcpServers: Readonly<Record<string, McpServer>>;
  /** Also starts the servers of the `mcp.json` files */
  readonly includesMcpJson: boolean;
};

/** An MCP server: its command on stdio, or its address. */
export type McpServer = {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly disabled?: boolean;
};

export type AgentSet = {
  readonly agents: ReadonlyMap<string, KiroAgent>;
  /** Warnings for stderr */
  readonly warnings: readonly string[];
};

const DEFAULT_AGENT: KiroAgent = {
  name: "kiro_default",
  file: undefined,
  tools: ["*"],
  allowedTools: [],
  model: undefined,
  hooks: {},
  mcpServers: {},
  includesMcpJson: true,
};

// Any other key makes Kiro reject the whole file.
const KEYS = new Set(
  `$schema name description prompt mcpServers tools toolAliases allowedTools resources hooks toolsSettings
   useLegacyMcpJson includeMcpJson model welcomeMessage keyboardShortcut`.split(/\s+/),
);

/** Loads all agent files of the current folder and the user, and skips invalid ones with a warning. */
export function loadAgents(profile: Profile): AgentSet {
  const agents = new Map<string, KiroAgent>();
  const warnings: string[] = [];
  for (const folder of agentFolders(profile)) {
    for (const file of listJson(folder)) {
      const agent = parseAgent(file, warnings);
      if (agent === undefined) continue;
      if (agents.has(agent.name)) warnings.push(`WARNING: Agent conflict for ${agent.name}. Using workspace version.`);
      else agents.set(agent.name, agent);
    }
  }
  return { agents, warnings };
}

/** Lists the folders of agents; the first engine also reads the older name of the folder. */
function agentFolders(profile: Profile): readonly string[] {
  const user = join(kiroFolder(), "agents");
  if (process.cwd() === homedir()) return [user];
  const older = profile === "q1" ? [join(process.cwd(), ".amazonq", "cli-agents")] : [];
  return [join(process.cwd(), ".kiro", "agents"), ...older, user];
}

function listJson(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.toSorted().map((name) => join(folder, name));
}

function parseAgent(file: string, warnings: string[]): KiroAgent | undefined {
  try {
    return toAgent(file, JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    warnings.push(`Error: Json supplied at ${file} is invalid: ${toReason(error)}`);
    return undefined;
  }
}

function toAgent(file: string, json: unknown): KiroAgent {
  if (typeof json !== "object" || json === null) throw new Error("expected a JSON object");
  const unknownKey = Object.keys(json).find((key) => !KEYS.has(key));
  if (unknownKey !== undefined) throw new Error(`unknown field \`${unknownKey}\``);
  const fields = json as Record<string, unknown>;
  checkPromptFile(file, fields["prompt"]);
  return {
    name: toText(fields["name"]) ?? basename(file, ".json"),
    file,
    tools: toTexts(fields["tools"]),
    allowedTools: toTexts(fields["allowedTools"]),
    model: toText(fields["model"]),
    hooks: (fields["hooks"] ?? {}) as KiroAgent["hooks"],
    mcpServers: (fields["mcpServers"] ?? {}) as KiroAgent["mcpServers"],
    includesMcpJson: fields["includeMcpJson"] === true || fields["useLegacyMcpJson"] === true,
  };
}

function checkPromptFile(file: string, prompt: unknown): void {
  if (typeof prompt !== "string" || !prompt.startsWith("file://")) return;
  const target = prompt.startsWith("file:///") ? fileURLToPath(prompt) : prompt.slice("file://".length);
  const path = resolveFrom(dirname(file), target);
  if (!existsSync(path)) throw new Error(`File URI not found: ${prompt} (resolved to ${path})`);
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function toTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Picks the agent. An unknown one is replaced by the default with a warning on stderr, unless the version is strict. */
export function pickAgent(
  name: string | undefined,
  { agents }: AgentSet,
  settings: Settings,
): { readonly agent: KiroAgent; readonly warning: string | undefined } {
  if (name === undefined) return { agent: DEFAULT_AGENT, warning: undefined };
  const agent = agents.get(name) ?? (name === DEFAULT_AGENT.name ? DEFAULT_AGENT : undefined);
  if (agent !== undefined) return { agent, warning: undefined };
  if (settings.strictAgent) throw toExitError(4, `error: agent "${name}" not found`);
  const warning =
    settings.profile === "q1"
      ? `Error: no agent with name ${name} found. Falling back to user specified default`
      : `warning: agent "${name}" not found, using "${DEFAULT_AGENT.name}"`;
  return { agent: DEFAULT_AGENT, warning };
}

/** Returns the table of `agent list`. */
export function toAgentTable({ agents }: AgentSet): string {
  const rows = [...agents.values(), DEFAULT_AGENT].map(
    ({ name, file }) => `${name.padEnd(24)} ${file === undefined ? "**No path found**" : dirname(file)}`,
  );
  return rows.join("\n");
}
