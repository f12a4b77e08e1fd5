import { join } from "node:path";
import {
  BudgieError,
  loadAgents,
  parseJson,
  readAgentDefinition,
  readPlainFile,
  toV2AllowedTools,
  toV2Tools,
  type Agent,
  type AgentDefinition,
  type LoadedAgents,
} from "@budgie/core";
import {
  expandVariables,
  parseServers,
  parseToolLists,
  type AllowedServer,
  type ConfigSource,
  type McpServer,
  type ToolList,
} from "@budgie/mcp-manager";
import { toServerPlace, type ServerPlace } from "./server-place.ts";
import type { Config } from "../config/config.ts";
import type { McpSection } from "../config/config-file-schema.ts";
import { toKiroFolder } from "../config/host-paths.ts";
import type { Host } from "../process/host.ts";

/** The choice of servers for a command. */
export type McpChoice = {
  /** `undefined` for all agents */
  readonly agent: string | undefined;
};

/** A server that may be started, and where. */
export type UsableServer = AllowedServer & {
  readonly place: ServerPlace;
  /** True if all sessions share one instance */
  readonly shared: boolean;
};

/** A server of an agent. */
export type FoundServer = {
  readonly agent: string;
  readonly name: string;
  /** The place of its entry */
  readonly from: string;
  /** The server as it may be started, or the reason why it may not */
  readonly use: UsableServer | { readonly state: "broken" | "disabled" | "not-allowed"; readonly reason: string };
};

/**
 * Finds the MCP servers of the agents on this machine, in the order of the agents and of the names in their files. Reports files
 * that cannot be read. Reads nothing of a repository.
 */
export function findServers(config: Config, choice: McpChoice, host: Host): readonly FoundServer[] {
  const loaded = loadAgents(config);
  for (const problem of listUnread(loaded)) host.report(problem);
  const agents = loaded.agents.filter(({ remote }) => remote === undefined);
  const chosen = agents.filter(({ name }) => choice.agent === undefined || name === choice.agent);
  if (choice.agent !== undefined && chosen.length === 0) {
    const message = `There is no agent "${choice.agent}" that can have MCP servers. "budgie agents ls" lists all.`;
    throw new BudgieError("AGENT_NOT_FOUND", message);
  }
  return findServersOf(chosen, { config, host });
}

/** Returns the problems of files without an agent, or those of the folder if it has no files. */
function listUnread({ files, problems }: LoadedAgents): readonly string[] {
  if (files.size === 0) return problems;
  return [...files.values()].flatMap((file) => (file.agent === undefined ? file.problems : []));
}

/** Finds the MCP servers of these agents. */
export function findServersOf(agents: readonly Agent[], places: Places): readonly FoundServer[] {
  const { config, host } = places;
  const file = toSettingsFile(host);
  const { mcpRegistry } = config;
  const settings = once(() => readSource(file) ?? { file, content: {} });
  const registry = mcpRegistry === undefined ? undefined : once(() => readNamed(mcpRegistry));
  return agents.flatMap((agent) => findOfAgent(agent, { ...places, settings, registry }));
}

/** Finds the server of this name. Throws if none may be used, or if agents have different ones. */
export function findServer(found: readonly FoundServer[], name: string): UsableServer {
  const named = found.filter((server) => server.name === name);
  if (named.length === 0) {
    throw new BudgieError("INPUT_INVALID", `No agent's file has an MCP server "${name}". "budgie mcp ls" lists all.`);
  }
  const usable = named.flatMap(({ use }) => ("server" in use ? [use] : []));
  const [first] = usable;
  if (first === undefined) throw new BudgieError("INPUT_INVALID", toRefusal(named[0] as FoundServer));
  if (new Set(usable.map((use) => JSON.stringify(use))).size > 1) {
    const agents = named.map(({ agent }) => `"${agent}"`).join(", ");
    throw new BudgieError(
      "INPUT_INVALID",
      `The agents ${agents} have different MCP servers "${name}". Choose one with --agent.`,
    );
  }
  return first;
}

/** Returns a sentence about a server that may not be used. */
export function toRefusal({ agent, name, use }: FoundServer): string {
  return `The MCP server "${name}" of the agent "${agent}" cannot be used: ${"reason" in use ? use.reason : ""}`;
}

type Places = { readonly config: Config; readonly host: Host };

type Sources = Places & {
  readonly settings: () => ConfigSource;
  readonly registry: (() => ConfigSource) | undefined;
};

/** Returns a function that reads a file once, at its first call. */
function once(read: () => ConfigSource): () => ConfigSource {
  let source: ConfigSource | undefined;
  return () => (source ??= read());
}

function toSettingsFile(host: Host): string {
  return join(toKiroFolder(host), "settings", "mcp.json");
}

function findOfAgent(agent: Agent, sources: Sources): readonly FoundServer[] {
  if (agent.program === undefined) {
    return findNamed(agent, { file: agent.file, content: readFields(agent, sources) }, sources);
  }
  const { allowMcp, mcp } = sources.config;
  const found = findNamed(agent, { file: agent.file, content: { includeMcpJson: true } }, sources);
  const asked = [...(mcp.get(agent.name)?.keys() ?? [])];
  const missing = asked.filter((name) => !found.some((server) => server.name === name));
  const use = { state: "broken", reason: `"${toSettingsFile(sources.host)}" has no entry for it.` } as const;
  return [
    // The other entries are for other agents.
    ...found.filter(({ name }) => asked.includes(name) || allowMcp.includes(name)),
    ...missing.map((name) => ({ agent: agent.name, name, from: agent.file, use })),
  ];
}

/** Reads an agent's fields. On V2 its tools are those that V2 is told of, since V2 does not know rules. */
function readFields(agent: Agent, { config }: Sources): AgentDefinition {
  const definition = readAgentDefinition(agent);
  if (config.kiroHarness === "v3") return definition;
  const [tools, allowedTools] = [toV2Tools(definition), toV2AllowedTools(definition)];
  return {
    ...definition,
    ...(tools === undefined ? {} : { tools: [...tools] }),
    ...(allowedTools === undefined ? {} : { allowedTools: [...allowedTools] }),
  };
}

/** Finds the servers that a source names, or includes from the user's settings. */
function findNamed(
  agent: Agent,
  source: ConfigSource,
  { config, host, registry, settings }: Sources,
): readonly FoundServer[] {
  const { broken, servers } = parseServers({ agent: source, settings, registry });
  const sections = config.mcp.get(agent.name);
  const toolLists = parseToolLists(source, { trustsAll: config.trustAllTools });
  const toUse = (server: McpServer): FoundServer["use"] => {
    const section = sections?.get(server.name) ?? (config.allowMcp.includes(server.name) ? ALL : undefined);
    if (section === undefined) return { state: "not-allowed", reason: NOT_ALLOWED };
    if (server.disabled) return { state: "disabled", reason: "its entry says so." };
    return toAllowed(server, { section, toolLists, host });
  };
  return [
    ...servers.map((server) => ({ agent: agent.name, name: server.name, from: server.from, use: toUse(server) })),
    ...[...broken].map(([name, { message: reason }]) => ({
      agent: agent.name,
      name,
      from: agent.file,
      use: { state: "broken", reason } as const,
    })),
  ];
}

const ALL: McpSection = { env: [] };

const NOT_ALLOWED =
  'it is not allowed. Add it to "mcp" in the agent\'s section of the configuration file, or use --allow-mcp.';

type Allowance = { readonly section: McpSection; readonly toolLists: readonly ToolList[]; readonly host: Host };

function toAllowed(server: McpServer, { host, section, toolLists }: Allowance): FoundServer["use"] {
  try {
    const approved = section.toolsHash;
    return {
      place: toServerPlace(server, section),
      server: expandVariables(server, { names: section.env, env: host.env }),
      toolLists,
      tools: section.tools,
      shared: section.shared === true,
      ...(approved === undefined ? {} : { approved }),
    };
  } catch (error) {
    if (error instanceof BudgieError) return { state: "broken", reason: error.message };
    throw error;
  }
}

function readNamed(file: string): ConfigSource {
  const source = readSource(file);
  if (source !== undefined) return source;
  throw new BudgieError("CONFIG_INVALID", `There is no file "${file}".`);
}

/** Reads a JSON file; `undefined` if there is none. */
function readSource(file: string): ConfigSource | undefined {
  try {
    return { file, content: parseJson(readPlainFile(file).text) };
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new BudgieError("CONFIG_INVALID", `Cannot read "${file}": ${code ?? message}.`, { cause });
  }
}
