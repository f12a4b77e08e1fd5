import { dirname } from "node:path";
import type { z } from "zod";
import {
  BudgieError,
  parseJson,
  parseTimeout,
  readPlainFile,
  type Agent,
  type EgressMode,
  type Tightening,
} from "@budgie/core";
import { FILE_OPTIONS, toConfigFileSchema, type agentSection, type McpSection } from "./config-file-schema.ts";
import type { ConfigKey } from "./config-schema.ts";
import type { KagentSection } from "../elsewhere/server-section.ts";
import { toRemoteAgent } from "../elsewhere/remote-agent.ts";
import type { HostWishes } from "./egress-list.ts";
import { toAbsolutePath } from "./host-paths.ts";
import { didYouMean } from "../terminal/did-you-mean.ts";

/** The content of a configuration file. */
export type ConfigFile = EgressWishes & {
  /** The other options, by key, as the command line would give them */
  readonly options: { readonly [Key in ConfigKey]?: unknown };
  readonly allowRoot: readonly string[];
  /** By agent */
  readonly agents: ReadonlyMap<string, AgentSection>;
  /** The agents that the file defines */
  readonly configuredAgents: readonly Agent[];
  readonly kagent: KagentSection | undefined;
  /** The MCP servers that agents' sections allow, by agent and by name */
  readonly mcp: ReadonlyMap<string, ReadonlyMap<string, McpSection>>;
  readonly mcpRegistry: string | undefined;
  /** The limits on concurrent turns, by agent; only agents whose sections set one */
  readonly maxConcurrent: ReadonlyMap<string, number>;
};

/** The egress settings of one source; `undefined` where it sets none */
export type EgressWishes = { readonly egress?: EgressMode | undefined } & {
  readonly [Key in keyof HostWishes]?: HostWishes[Key] | undefined;
};

/** An agent's section. Its hosts are not parsed yet. */
export type AgentSection = Omit<Tightening, "allowedHosts"> & EgressWishes;

/** Loads a configuration file; without one the result is empty. Throws `CONFIG_INVALID` naming the file and the fault. */
export function loadConfigFile(file: string | undefined, home: string): ConfigFile {
  if (file === undefined)
    return {
      options: {},
      allowRoot: [],
      agents: new Map(),
      configuredAgents: [],
      kagent: undefined,
      mcp: new Map(),
      mcpRegistry: undefined,
      maxConcurrent: new Map(),
    };
  const content = readJson(file);
  const schema = toConfigFileSchema();
  const parsed = schema.safeParse(content);
  if (!parsed.success) throw toFileError(file, parsed.error.issues[0], Object.keys(schema.shape));
  const { agents, allowHost, allowPreset, allowRoot = [], egress, kagent, mcpRegistry } = parsed.data;
  const maxConcurrent = Object.entries(agents).flatMap(([name, section]): readonly [string, number][] =>
    section.maxConcurrent === undefined ? [] : [[name, section.maxConcurrent]],
  );
  const sections = Object.entries(agents).map(([name, section]): [string, AgentSection] => [
    name,
    toAgentSection(section, `"agents.${name}.timeout" in "${file}"`),
  ]);
  // Paths in the file are relative to the file.
  const place = { cwd: dirname(file), home };
  return {
    options: toOptions(content as Readonly<Record<string, unknown>>, place),
    ...(egress === undefined ? {} : { egress }),
    ...(allowHost === undefined ? {} : { allowHost }),
    ...(allowPreset === undefined ? {} : { allowPreset }),
    allowRoot: allowRoot.map((root) => toAbsolutePath(root, place)),
    agents: new Map(sections),
    kagent,
    mcp: toMcp(agents),
    mcpRegistry: mcpRegistry === undefined ? undefined : toAbsolutePath(mcpRegistry, place),
    configuredAgents: Object.entries(agents).flatMap(([name, section]) =>
      section.protocol === "acp" || section.protocol === "a2a" ? [toAgent(name, section, { ...place, file })] : [],
    ),
    maxConcurrent: new Map(maxConcurrent),
  };
}

function toMcp(agents: Readonly<Record<string, Section>>): ConfigFile["mcp"] {
  const sections = Object.entries(agents).map(([agent, section]) => {
    const servers = "mcp" in section ? section.mcp : undefined;
    return [agent, new Map(Object.entries(servers ?? {}))] as const;
  });
  return new Map(sections.filter(([, servers]) => servers.size > 0));
}

const PATHS: ReadonlySet<ConfigKey> = new Set([
  "agentsDir",
  "promptsDir",
  "systemPrompt",
  "contextSummaryPrompt",
  "kiroDataDir",
  "stateDir",
  "caFile",
  "sessionsDir",
  "httpTokenFile",
]);

/** Returns the options that the checked content sets, without the schema's defaults. */
function toOptions(content: Readonly<Record<string, unknown>>, place: Parameters<typeof toAbsolutePath>[1]) {
  const toValue = (key: ConfigKey, value: unknown): unknown => {
    if (typeof value === "number") return String(value);
    const isPath = PATHS.has(key) || (key === "kiroBinary" && String(value).includes("/"));
    return isPath ? toAbsolutePath(String(value), place) : value;
  };
  const given = FILE_OPTIONS.filter((key) => content[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, toValue(key, content[key])]));
}

function readJson(file: string): unknown {
  try {
    return parseJson(readPlainFile(file).text);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new BudgieError(
      "CONFIG_INVALID",
      `Cannot read the file "${file}" of --config: ${code ?? message}. Correct it, or leave the option out.`,
      { cause },
    );
  }
}

type Section = z.infer<typeof agentSection>;

function toAgentSection(section: Section, option: string): AgentSection {
  if (section.protocol === "a2a") return { timeoutMs: toTimeout(section, option) };
  const { limits: { cpus, disk, memory, pids } = {}, timeout: _, ...rest } = section;
  const kept = (["allowHost", "allowPreset", "egress", "workspace"] as const).filter((key) => rest[key] !== undefined);
  return {
    ...Object.fromEntries(kept.map((key) => [key, rest[key]])),
    limits: { cpus, pids, memoryBytes: memory, diskBytes: disk },
    timeoutMs: toTimeout(section, option),
  };
}

function toTimeout({ timeout }: Section, option: string): number | undefined {
  return timeout === undefined ? undefined : parseTimeout(timeout, option);
}

type Place = Parameters<typeof toAbsolutePath>[1] & { readonly file: string };

function toAgent(
  name: string,
  section: Exclude<Section, { readonly protocol?: "kiro" | undefined }>,
  place: Place,
): Agent {
  const where = `"agents.${name}" in ${place.file}`;
  if (section.protocol === "a2a") return toRemoteAgent(name, { ...section, file: where });
  const { args, command, description, env, home = {}, image, model, permission, sandboxArgs } = section;
  const files = Object.entries(home).map(([path, file]) => [path, toAbsolutePath(file, place)]);
  return {
    name,
    description,
    whenToUse: "",
    file: where,
    promptFile: undefined,
    writesFiles: false,
    program: { argv: [command, ...args], sandboxArgs, env, home: Object.fromEntries(files), image, permission },
    model,
    hasModel: false,
  };
}

function toFileError(file: string, issue: z.core.$ZodIssue | undefined, keys: readonly string[]): BudgieError {
  const isTop = issue === undefined || issue.path.length === 0;
  const place = isTop ? "its content" : `"${issue.path.join(".")}"`;
  if (issue?.code !== "unrecognized_keys") {
    const expected = issue?.message.replace(/^Invalid input: expected (\w+),.*$/, "of the type $1");
    return new BudgieError("CONFIG_INVALID", `Expected ${place} in "${file}" to be ${expected}.`);
  }
  const near = isTop ? didYouMean(issue.keys[0] ?? "", keys) : "";
  return new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" has a key that is unknown in ${place}: "${issue.keys.join('", "')}".${near} Remove it, or correct its name.`,
  );
}
