import { BudgieError, loadAgents, type Agent } from "@budgie/core";
import { readAgentDefinition, type AgentDefinition, type LoadedAgents } from "@budgie/core/agents";
import { parseJson, readPlainFile } from "@budgie/core/text";
import { listV2AllowedTools, listV2Tools } from "@budgie/protocols/kiro";
import type { ConfigSource } from "../config/config-source.ts";
import { expandVariables } from "../config/expand-variables.ts";
import type { McpServer } from "../config/mcp-server.ts";
import { parseServers } from "../config/parse-servers.ts";
import { parseToolLists, type ToolList } from "../config/parse-tool-lists.ts";
import type { AllowedServer } from "../is-allowed-tool.ts";
import { findUnallowed, readPins, type ServerPin, type WaitingServer } from "./find-unallowed.ts";
import { findServerPlace, type ServerPlace } from "./server-place.ts";
import type { McpSection, ServersConfig } from "./servers-config.ts";

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
  readonly use:
    | UsableServer
    | WaitingServer
    | { readonly state: "broken" | "disabled" | "not-allowed"; readonly reason: string };
};

/**
 * Finds the MCP servers of the agents on this machine, in the order of the agents and of the names in their files. Reports files
 * that cannot be read. Reads nothing of a repository.
 */
export function findServers(config: ServersConfig, choice: McpChoice): readonly FoundServer[] {
  const loaded = loadAgents(config);
  for (const problem of listUnread(loaded)) config.report(problem);
  const agents = loaded.agents.filter(({ remote }) => remote === undefined);
  const chosen = agents.filter(({ name }) => choice.agent === undefined || name === choice.agent);
  if (choice.agent !== undefined && chosen.length === 0) {
    const message = `There is no agent "${choice.agent}" that can have MCP servers. "budgie agents ls" lists all.`;
    throw new BudgieError("AGENT_NOT_FOUND", message);
  }
  return findServersOf(chosen, config);
}

/** Returns the problems of files without an agent, or those of the folder if it has no files. */
function listUnread({ files, problems }: LoadedAgents): readonly string[] {
  if (files.size === 0) return problems;
  return [...files.values()].flatMap((file) => (file.agent === undefined ? file.problems : []));
}

/** Finds the MCP servers of these agents. */
export function findServersOf(agents: readonly Agent[], config: ServersConfig): readonly FoundServer[] {
  const { mcpRegistry, settingsFile: file } = config;
  const settings = once(() => readSource(file) ?? { file, content: {} });
  const registry = mcpRegistry === undefined ? undefined : once(() => readNamed(mcpRegistry));
  const pins = once(() => readPins(config));
  return agents.flatMap((agent) => findOfAgent(agent, { config, settings, registry, pins }));
}

/** Finds the server of this name. Throws if none may be used, or if agents have different ones. */
export function findServer(found: readonly FoundServer[], name: string): UsableServer {
  const named = found.filter((server) => server.name === name);
  if (named.length === 0) {
    throw new BudgieError("INPUT_INVALID", `No agent's file has an MCP server "${name}". "budgie mcp ls" lists all.`);
  }
  const usable = named.flatMap(({ use }) => ("server" in use ? [use] : []));
  const [first] = usable;
  if (first === undefined) throw new BudgieError("INPUT_INVALID", formatRefusal(named[0] as FoundServer));
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
export function formatRefusal({ agent, name, use }: FoundServer): string {
  return `The MCP server "${name}" of the agent "${agent}" cannot be used: ${"reason" in use ? use.reason : ""}`;
}

type Sources = {
  readonly config: ServersConfig;
  readonly settings: () => ConfigSource;
  readonly registry: (() => ConfigSource) | undefined;
  readonly pins: () => readonly ServerPin[];
};

/** Returns a function that reads a file once, at its first call. */
function once<Content>(read: () => Content): () => Content {
  let source: Content | undefined;
  return () => (source ??= read());
}

function findOfAgent(agent: Agent, sources: Sources): readonly FoundServer[] {
  if (agent.program === undefined) {
    return findNamed(agent, { file: agent.file, content: readFields(agent, sources) }, sources);
  }
  const { allowMcp, mcp, settingsFile } = sources.config;
  const found = findNamed(agent, { file: agent.file, content: { includeMcpJson: true } }, sources);
  const asked = [...(mcp.get(agent.name)?.keys() ?? [])];
  const missing = asked.filter((name) => !found.some((server) => server.name === name));
  const use = { state: "broken", reason: `"${settingsFile}" has no entry for it.` } as const;
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
  const [tools, allowedTools] = [listV2Tools(definition), listV2AllowedTools(definition)];
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
  { config, pins, registry, settings }: Sources,
): readonly FoundServer[] {
  const { broken, servers } = parseServers({ agent: source, settings, registry });
  const sections = config.mcp.get(agent.name);
  const toolLists = parseToolLists(source, { trustsAll: config.trustAllTools });
  const findUse = (server: McpServer): FoundServer["use"] => {
    const section = sections?.get(server.name) ?? (config.allowMcp.includes(server.name) ? ALL : undefined);
    if (section === undefined) return { state: "not-allowed", reason: NOT_ALLOWED };
    if (server.disabled) return { state: "disabled", reason: "its entry says so." };
    return checkAllowed(server, { agent: agent.name, section, toolLists, config, pins });
  };
  return [
    ...servers.map((server) => ({ agent: agent.name, name: server.name, from: server.from, use: findUse(server) })),
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

const NO_CONTAINER =
  'on a cluster no server has a container of its own. Set "run": "host" in its section, or use --runner docker.';

const NO_HASH =
  '"refuseOtherTools" needs "toolsHash", which "budgie mcp tools" prints. Until you have it, leave "refuseOtherTools" out.';

type Allowance = Omit<Sources, "registry" | "settings"> & {
  readonly agent: string;
  readonly section: McpSection;
  readonly toolLists: readonly ToolList[];
};

function checkAllowed(server: McpServer, allowance: Allowance): FoundServer["use"] {
  const { config, section, toolLists } = allowance;
  try {
    const place = findServerPlace(server, section);
    if (config.isOnCluster && place.run === "sandbox") return { state: "broken", reason: NO_CONTAINER };
    const waiting = findUnallowed({ server, place, names: section.env }, allowance);
    if (waiting !== undefined) return waiting;
    const approved = section.toolsHash;
    if (section.refuseOtherTools === true && approved === undefined) return { state: "broken", reason: NO_HASH };
    return {
      place,
      server: expandVariables(server, { names: section.env, env: config.env }),
      toolLists,
      tools: section.tools,
      shared: section.shared === true,
      ...(approved === undefined ? {} : { approved, refusesOthers: section.refuseOtherTools === true }),
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
