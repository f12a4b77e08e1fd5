import { join } from "node:path";
import type { z } from "zod";
import { BudgieError, type Agent } from "@budgie/core";
import { parseBudgets } from "@budgie/core/budget";
import type { WorkspaceAccess } from "@budgie/core/policy";
import { parseTimeout } from "@budgie/core/text";
import type { LimitWishes } from "@budgie/core/turn";
import { readRunner, type OfRunner, type RunnerKey } from "../cluster/read-runner.ts";
import { loadConfigFile, type ConfigFile } from "./config-file.ts";
import { configSchema, type ConfigKey } from "../options/config-schema.ts";
import { needsSandbox, parseEgressCeiling } from "./parse-egress-ceiling.ts";
import type { KagentSection } from "./kagent-section.ts";
import {
  resolvePath,
  toBinary,
  mayExist,
  toDefaultConfigFile,
  findExistingFile,
  refuseMissing,
  findKiroDataDir,
  findStateDir,
  type Host,
  type Settings,
} from "@budgie/mcp-server";
import { configError } from "../options/config-error.ts";
import { formatOptionName } from "../options/format-option-name.ts";
import { isEngineElsewhere } from "@budgie/runner-docker/is-engine-elsewhere";
import { buildPolicies, type PolicyOptions } from "./build-policies.ts";
import { buildWorkspaces } from "./build-workspaces.ts";
import { parseTimes, type TimeKey, type Times } from "./parse-times.ts";

/** The checked options, with absolute paths. */
export type Config = Omit<
  z.infer<typeof configSchema>,
  | "agentTimeout"
  | "allowHost"
  | "allowPreset"
  | "allowRoot"
  | "egress"
  | "env"
  | "maxConcurrent"
  | "maxQueued"
  | "maxTurnsPerMinute"
  | "workspace"
  | FilledIn
  | RunnerKey
  | TimeKey
> &
  OfRunner &
  Settings &
  Times &
  Readonly<Record<FilledIn, string>> & {
    /** Empty allows every directory */
    readonly allowRoot: readonly string[];
    /** The agents that the configuration file defines; `undefined` if there are none */
    readonly configuredAgents: readonly Agent[] | undefined;
    readonly kagent: KagentSection | undefined;
    /** The MCP servers that agents' sections allow, by agent and by name */
    readonly mcp: ConfigFile["mcp"];
    /** The file of a registry of MCP servers */
    readonly mcpRegistry: string | undefined;
    /** The command that is told of turns */
    readonly notify: ConfigFile["notify"];
    /** True if the configuration file names a backend, also after its agents were listed */
    readonly hasBackend: boolean;
    readonly turnLimits: LimitWishes;
  };

/** Options whose default depends on the machine or on other options */
type FilledIn = "contextSummaryPrompt" | "kiroDataDir" | "stateDir" | "systemPrompt";

type Values = { readonly [Key in ConfigKey]?: unknown };

/**
 * Checks the options, and those of the configuration file that they name. `defaults` apply where neither gives a value. Throws
 * `CONFIG_INVALID` naming the option, its value and what was expected.
 */
export function parseConfig(values: Values, host: Host, defaults: Values = {}): Config {
  return parseSource(loadSource(values, host, defaults), host);
}

/** Checks the options of a loaded source, as {@link parseConfig} does. */
export function parseSource(source: Source, host: Host): Config {
  const { given, toName } = source;
  const parsed = configSchema.safeParse(given);
  if (!parsed.success) throw configError(parsed.error, given);
  const { agentTimeout, allowHost, allowPreset, egress, maxConcurrent, maxQueued, workspace, ...rest } = parsed.data;
  const { heartbeat, keepChanges, keepRuns, maxRunsBytes, sessionTtl, ...others } = rest;
  const { env, softDeadline, sweepEvery, warmIdle, ...more } = others;
  const { kubernetesContext, kubernetesNamespace, kubernetesPorts, kubernetesSidecarImage, ...most } = more;
  const { acceptWeaker, kubernetesWait, runner, ...plain } = most;
  const cluster = { kubernetesContext, kubernetesNamespace, kubernetesPorts, kubernetesSidecarImage, kubernetesWait };
  const kubeconfig = plain.kubeconfig === undefined ? undefined : resolvePath(plain.kubeconfig, host);
  const asked = { ...plain, ...cluster, acceptWeaker, kubeconfig, runner };
  const options = { ...plain, kubeconfig, ...readRunner(asked, source) };
  const times = { heartbeat, keepChanges, keepRuns, maxRunsBytes, sessionTtl, softDeadline, sweepEvery, warmIdle };
  const access = { workspace: chooseWorkspace({ ...options, workspace }, source, host) };
  const limits = { agentTimeout, allowHost, allowPreset, egress, maxConcurrent, maxQueued, ...access };
  const promptsDir = resolvePath(options.promptsDir, host);
  const findFile = (key: "caFile" | "contextSummaryPrompt" | "systemPrompt"): string | undefined =>
    findExistingFile(options[key], toName(key), host);
  return {
    ...options,
    isShortProjectLogin: source.given.credentials === undefined,
    promptsDir,
    protocol: chooseProtocol(options, source),
    ...mergeAccess({ ...options, ...limits }, source, host),
    budgets: parseBudgets(source.content.budgets),
    env: chooseVariables(env, source.content),
    agentEnv: source.content.agentEnv,
    mcp: source.content.mcp,
    mcpRegistry: source.content.mcpRegistry,
    notify: source.content.notify,
    agentsDir: findAgentsDir(options.agentsDir, source, host),
    sessionsDir: resolvePath(options.sessionsDir, host),
    caFile: findFile("caFile"),
    systemPrompt: findFile("systemPrompt") ?? join(promptsDir, "_system.md"),
    contextSummaryPrompt: findFile("contextSummaryPrompt") ?? join(promptsDir, "_context-summary.md"),
    kiroBinary: options.sandbox ? options.kiroBinary : toBinary(options.kiroBinary, host),
    kiroDataDir: resolvePath(options.kiroDataDir ?? findKiroDataDir(host), host),
    stateDir: resolvePath(options.stateDir ?? findStateDir(host), host),
    ...parseTimes({ ...options, ...times }, toName),
  };
}

type Source = {
  readonly file: string | undefined;
  readonly content: ConfigFile;
  /** The values of the options, the file's included */
  readonly given: Values;
  /** True if the value of an option is the file's */
  readonly isInFile: (key: ConfigKey) => boolean;
  /** Returns the name of an option for messages, which depends on its source. */
  readonly toName: (key: ConfigKey) => string;
};

/** Loads the configuration file, and merges it with the options, which take precedence. */
export function loadSource(values: Values, host: Host, defaults: Values = {}): Source {
  const named = findConfigFile(values, host);
  const file = values.config !== undefined || mayExist(named) ? named : undefined;
  return toSource({ file, content: loadConfigFile(file, host.home) }, values, defaults);
}

/** Merges the content of a configuration file with the options, which take precedence. */
export function toSource(
  { content, file }: Pick<Source, "content" | "file">,
  values: Values,
  defaults: Values = {},
): Source {
  const given = { ...defaults, ...content.options, ...values };
  const isInFile = (key: ConfigKey): boolean => values[key] === undefined && key in content.options;
  const toName = (key: ConfigKey): string => (isInFile(key) ? `"${key}" in "${file}"` : formatOptionName(key));
  return { file, content, given, isInFile, toName };
}

/** Returns the variables of all agents: those that options name, or else those of the file. */
function chooseVariables(names: readonly string[], { env = {} }: ConfigFile): Settings["env"] {
  return names.length === 0 ? env : Object.fromEntries(names.map((name) => [name, `$${name}`]));
}

/** Returns the absolute path of the configuration file that the options name, or else of the default one, which may be missing. */
export function findConfigFile(values: Values, host: Host): string {
  const { data, error } = configSchema.pick({ config: true }).safeParse({ config: values.config });
  if (error !== undefined) throw configError(error, values);
  return data.config === undefined ? toDefaultConfigFile(host) : resolvePath(data.config, host);
}

/** Returns the folder. Only the default one may be missing. */
function findAgentsDir(folder: string, { given, toName }: Source, host: Host): string {
  const path = resolvePath(folder, host);
  if (given.agentsDir === undefined) return path;
  return refuseMissing(path, { kind: "directory", option: toName("agentsDir") });
}

/** Returns the protocol, which V3 implies. Throws if the options ask for another one. */
function chooseProtocol(
  { kiroHarness, protocol }: Pick<Config, "kiroHarness" | "protocol">,
  { given, toName }: Source,
): Config["protocol"] {
  if (kiroHarness === "v2" || protocol === "acp") return protocol;
  if (given.protocol === undefined) return "acp";
  throw new BudgieError(
    "CONFIG_INVALID",
    `Expected ${toName("protocol")} to be "acp" or left out, got "cli": ${toName("kiroHarness")} is "v3", which needs ACP.`,
  );
}

type Wish = Pick<OfRunner, "cluster" | "sandbox"> & Pick<z.infer<typeof configSchema>, "workspace">;

/** Returns the access to directories: on a cluster agents work on copies, and unless the user chose another, on an engine elsewhere. */
function chooseWorkspace(wish: Wish, { given }: Source, { env, home }: Host): WorkspaceAccess {
  const { cluster, sandbox, workspace } = wish;
  if (cluster !== undefined && workspace === "ro") return "ro-copy";
  if (cluster !== undefined && given.workspace === undefined) return "copy";
  return sandbox && given.workspace === undefined && isEngineElsewhere(env, home) ? "copy" : workspace;
}

type Merged = Pick<
  Config,
  "allowRoot" | "config" | "configuredAgents" | "hasBackend" | "kagent" | "policies" | "turnLimits" | "workspaces"
>;

/** Merges the hosts, roots and sections of the configuration file with the options, which take precedence. */
function mergeAccess(
  options: Omit<z.infer<typeof configSchema>, RunnerKey | TimeKey | "env" | "workspace"> & {
    readonly workspace: WorkspaceAccess;
  },
  { content, file, toName }: Source,
  host: Host,
): Merged {
  const { agents, allowRoot, configuredAgents, kagent, limits = {}, maxConcurrent, workspaces, ...inFile } = content;
  if (!options.sandbox && Object.keys(limits).length > 0) throw needsSandbox(`"limits" in "${file}"`);
  const timeoutMs = parseTimeout(options.agentTimeout, toName("agentTimeout"));
  const access: PolicyOptions = {
    ceiling: {
      workspace: options.workspace,
      egress: parseEgressCeiling({ options, inFile, file, sandbox: options.sandbox }),
      limits,
      timeoutMs,
    },
    sections: agents,
    programs: new Set(configuredAgents.flatMap(({ name, program }) => (program === undefined ? [] : [name]))),
    file,
    sandbox: options.sandbox,
  };
  return {
    config: file,
    configuredAgents: configuredAgents.length === 0 ? undefined : configuredAgents,
    kagent,
    hasBackend: kagent !== undefined,
    allowRoot: options.allowRoot?.map((root) => resolvePath(root, host)) ?? allowRoot,
    policies: buildPolicies(access),
    workspaces: buildWorkspaces(workspaces, access),
    turnLimits: { concurrent: options.maxConcurrent, queued: options.maxQueued, agents: maxConcurrent },
  };
}
