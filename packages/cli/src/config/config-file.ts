import { dirname, resolve } from "node:path";
import type { z } from "zod";
import { BudgieError, type Agent, type EgressMode } from "@budgie/core";
import type { BudgetSection, BudgetSections } from "@budgie/core/budget";
import type { Limits, Tightening } from "@budgie/core/policy";
import { parseJson, parseTimeout, readPlainFile } from "@budgie/core/text";
import type { HostWishes } from "@budgie/egress/allow-list";
import { FILE_OPTIONS, buildConfigFileSchema, type agentSection, type McpSection } from "./build-config-file-schema.ts";
import { isPathOption, type ConfigKey } from "../options/config-schema.ts";
import type { KagentSection } from "./kagent-section.ts";
import type { WorkspaceSection } from "./workspace-section.ts";
import {
  buildRemoteAgent,
  resolvePath,
  toBinary,
  type AgentNeeds,
  type Variables,
  type WorkspaceSettings,
} from "@budgie/mcp-server";
import { fileError } from "../options/file-error.ts";

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
  /** The command that is told of turns; its program is a name, or an absolute path */
  readonly notify: readonly string[] | undefined;
  /** The limits on concurrent turns, by agent; only agents whose sections set one */
  readonly maxConcurrent: ReadonlyMap<string, number>;
  /** The variables of all agents; `undefined` if the file names none */
  readonly env: Variables | undefined;
  /** The variables of single agents */
  readonly agentEnv: ReadonlyMap<string, Variables>;
  /** The limits of all sandboxes */
  readonly limits: Partial<Limits> | undefined;
  readonly budgets: BudgetSections;
  readonly workspaces: readonly FileWorkspace[];
};

/** The section of a directory. Its hosts are not parsed yet. */
export type FileWorkspace = Omit<EgressWishes, "egress"> &
  AgentNeeds &
  Pick<WorkspaceSettings, "directory"> & {
    /** As the file has it */
    readonly path: string;
    readonly requireImage: boolean | undefined;
    /** Absolute paths */
    readonly mounts: readonly string[] | undefined;
    readonly limits: Partial<Limits> | undefined;
    readonly budget: BudgetSection | undefined;
    readonly workspacePath: WorkspaceSettings["workspacePath"];
    readonly subfolderGit: boolean | undefined;
    readonly cache: WorkspaceSettings["cache"];
    readonly services: WorkspaceSettings["services"];
    /** By agent */
    readonly agents: ReadonlyMap<string, { readonly section: AgentSection; readonly needs: AgentNeeds }>;
  };

/** The egress settings of one source; `undefined` where it sets none */
export type EgressWishes = { readonly egress?: EgressMode | undefined } & {
  readonly [Key in keyof HostWishes]?: HostWishes[Key] | undefined;
};

/** An agent's section. Its hosts are not parsed yet. */
export type AgentSection = Omit<Tightening, "allowedHosts"> & EgressWishes;

/** Loads a configuration file; without one the result is empty. Throws `CONFIG_INVALID` naming the file and the fault. */
export function loadConfigFile(file: string | undefined, home: string): ConfigFile {
  return parseConfigFile(file === undefined ? {} : readJson(file), { file: file ?? "", home });
}

/** Checks the JSON of a configuration file. Throws like {@link loadConfigFile}. */
export function parseConfigFile(
  content: unknown,
  { file, home }: { readonly file: string; readonly home: string },
): ConfigFile {
  const schema = buildConfigFileSchema();
  const parsed = schema.safeParse(content);
  if (!parsed.success) throw fileError(file, parsed.error.issues[0], Object.keys(schema.shape));
  const { agents, allowHost, allowPreset, allowRoot = [], egress, env, kagent, limits, ...more } = parsed.data;
  const sections = Object.entries(agents).map(([name, section]): [string, AgentSection] => [
    name,
    section.protocol === "a2a"
      ? { timeoutMs: readTimeout(section, `"agents.${name}.timeout" in "${file}"`) }
      : readSection(section, `"agents.${name}.timeout" in "${file}"`),
  ]);
  // Paths in the file are relative to the file.
  const place = { cwd: dirname(file), home };
  return {
    options: readOptions(content as Readonly<Record<string, unknown>>, place),
    ...(egress === undefined ? {} : { egress }),
    ...(allowHost === undefined ? {} : { allowHost }),
    ...(allowPreset === undefined ? {} : { allowPreset }),
    allowRoot: allowRoot.map((root) => resolvePath(root, place)),
    agents: new Map(sections),
    kagent,
    mcp: collectMcp(agents),
    notify: more.notify?.map((word, index) => (index === 0 ? toBinary(word, place) : word)),
    mcpRegistry: more.mcpRegistry === undefined ? undefined : resolvePath(more.mcpRegistry, place),
    configuredAgents: Object.entries(agents).flatMap(([name, section]) =>
      section.protocol === "acp" || section.protocol === "a2a" ? [readAgent(name, section, { ...place, file })] : [],
    ),
    maxConcurrent: collect(agents, "maxConcurrent"),
    env,
    agentEnv: new Map(Object.entries(agents).map(([name, section]) => [name, ("env" in section && section.env) || {}])),
    limits,
    budgets: { all: more.budget, agents: collect(agents, "budget") },
    workspaces: Object.entries(more.workspaces).map(([path, section]) =>
      readWorkspace(section, { ...place, file, path }),
    ),
  };
}

type WorkspacePlace = FileHost & { readonly path: string };

function readWorkspace(section: WorkspaceSection, { file, path, ...place }: WorkspacePlace): FileWorkspace {
  const { agents, budget, cache, env = {}, image, limits, ...rest } = section;
  const { mounts, requireImage, services, subfolderGit, workspacePath, ...hosts } = rest;
  const read = Object.entries(agents).map(([name, agent]) => {
    const option = `"workspaces.${JSON.stringify(path)}.agents.${name}.timeout" in "${file}"`;
    return [
      name,
      { section: readSection(agent, option), needs: { env: agent.env ?? {}, image: agent.image } },
    ] as const;
  });
  return {
    ...hosts,
    path,
    directory: resolvePath(path, place),
    env,
    image,
    limits,
    budget,
    mounts: mounts?.map((mount) => resolve(resolvePath(mount, place))),
    requireImage,
    workspacePath,
    subfolderGit,
    cache,
    services: services && Object.entries(services).map(([name, service]) => ({ name, ...service })),
    agents: new Map(read),
  };
}

/** Collects what sections have under a key, by agent. */
function collect<Key extends "budget" | "maxConcurrent">(agents: Readonly<Record<string, Section>>, key: Key) {
  const found = Object.entries(agents).flatMap(([name, { [key]: value }]) => (value ? [[name, value] as const] : []));
  return new Map<string, NonNullable<Section[Key]>>(found);
}

function collectMcp(agents: Readonly<Record<string, Section>>): ConfigFile["mcp"] {
  const sections = Object.entries(agents).map(
    ([agent, section]) => [agent, new Map(Object.entries(("mcp" in section && section.mcp) || {}))] as const,
  );
  return new Map(sections.filter(([, servers]) => servers.size > 0));
}

/** Returns the options that the checked content sets, without the schema's defaults. */
function readOptions(content: Readonly<Record<string, unknown>>, place: Parameters<typeof resolvePath>[1]) {
  const readValue = (key: ConfigKey, value: unknown): unknown => {
    if (typeof value === "number") return String(value);
    const isPath = isPathOption(key) || (key === "kiroBinary" && String(value).includes("/"));
    return isPath ? resolvePath(String(value), place) : value;
  };
  const given = FILE_OPTIONS.filter((key) => content[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, readValue(key, content[key])]));
}

function readJson(file: string): unknown {
  try {
    return parseJson(readPlainFile(file).text);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new BudgieError(
      "CONFIG_INVALID",
      `Cannot read the configuration file "${file}": ${code ?? message}. Correct it, or name another with --config.`,
      { cause },
    );
  }
}

type Section = z.infer<typeof agentSection>;

function readSection(section: RestrictingSection, option: string): AgentSection {
  const { limits = {} } = section;
  const kept = (["allowHost", "allowPreset", "egress", "workspace"] as const).filter(
    (key) => section[key] !== undefined,
  );
  return {
    ...Object.fromEntries(kept.map((key) => [key, section[key]])),
    limits,
    timeoutMs: readTimeout(section, option),
  };
}

type RestrictingSection = WorkspaceSection["agents"][string];

function readTimeout({ timeout }: Pick<Section, "timeout">, option: string): number | undefined {
  return timeout === undefined ? undefined : parseTimeout(timeout, option);
}

type FileHost = Parameters<typeof resolvePath>[1] & { readonly file: string };

function readAgent(
  name: string,
  section: Exclude<Section, { readonly protocol?: "kiro" | undefined }>,
  place: FileHost,
): Agent {
  const where = `"agents.${name}" in ${place.file}`;
  if (section.protocol === "a2a") return buildRemoteAgent(name, { ...section, file: where });
  const { args, command, description, home = {}, image, model, permission, sandboxArgs, tokenBasis } = section;
  const files = Object.entries(home).map(([path, file]) => [path, resolvePath(file, place)]);
  const own = { sandboxArgs, image, permission, tokenBasis };
  return {
    name,
    description,
    whenToUse: "",
    file: where,
    promptFile: undefined,
    writesFiles: false,
    program: { argv: [command, ...args], home: Object.fromEntries(files), ...own },
    model,
    hasModel: false,
  };
}
