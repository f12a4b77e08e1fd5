import { join } from "node:path";
import type { z } from "zod";
import {
  BudgieError,
  parseDuration,
  parseTimeout,
  type Agent,
  type TurnLimitWishes,
  type TurnRateLimits,
} from "@budgie/core";
import type { Retention } from "@budgie/store";
import { loadConfigFile, type ConfigFile } from "./config-file.ts";
import { configSchema, type ConfigKey } from "./config-schema.ts";
import { toEgressCeiling } from "./egress-ceiling.ts";
import type { KagentSection } from "../elsewhere/server-section.ts";
import type { Host } from "../process/host.ts";
import { toAbsolutePath, findExistingFile, refuseMissing, toKiroDataDir, toStateDir } from "./host-paths.ts";
import type { SoftDeadline } from "./tool-options.ts";
import { toOptionName } from "./option-names.ts";
import { parseTime } from "./option-values.ts";
import { toPolicies, type Policies } from "./agent-policies.ts";
import { toTurnRateLimits } from "./turn-rate-limits.ts";

/** The checked options, with absolute paths. */
export type Config = Omit<
  z.infer<typeof configSchema>,
  | "agentTimeout"
  | "allowHost"
  | "allowPreset"
  | "allowRoot"
  | "egress"
  | "heartbeat"
  | "keepRuns"
  | "maxConcurrent"
  | "maxQueued"
  | "maxRunsBytes"
  | "maxTurnsPerMinute"
  | "sessionTtl"
  | "softDeadline"
  | "sweepEvery"
  | "warmIdle"
  | "workspace"
  | FilledIn
> &
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
    /** True if the configuration file names a backend, also after its agents were listed */
    readonly hasBackend: boolean;
    readonly policies: Policies;
    readonly maxTurnsPerMinute: TurnRateLimits;
    readonly retention: Retention;
    readonly sessionTtlMs: number;
    readonly heartbeatMs: number;
    /** 0 if no process lives longer than its turn */
    readonly warmIdleMs: number;
    /** A number is in milliseconds */
    readonly softDeadline: SoftDeadline;
    readonly turnLimits: TurnLimitWishes;
    /** 0 disables the sweep */
    readonly sweepEveryMs: number;
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
  if (!parsed.success) throw toConfigError(parsed.error, given);
  const { agentTimeout, allowHost, allowPreset, egress, maxConcurrent, maxQueued, workspace, ...rest } = parsed.data;
  const { heartbeat, keepRuns, maxRunsBytes, sessionTtl, softDeadline, sweepEvery, warmIdle, ...options } = rest;
  const limits = { agentTimeout, allowHost, allowPreset, egress, maxConcurrent, maxQueued, workspace };
  const promptsDir = toAbsolutePath(options.promptsDir, host);
  return {
    ...options,
    promptsDir,
    protocol: toProtocol(options, source),
    ...toAccess({ ...options, ...limits }, source, host),
    mcp: source.content.mcp,
    mcpRegistry: source.content.mcpRegistry,
    agentsDir: toAgentsDir(options.agentsDir, source, host),
    sessionsDir: toAbsolutePath(options.sessionsDir, host),
    caFile: findExistingFile(options.caFile, toName("caFile"), host),
    systemPrompt:
      findExistingFile(options.systemPrompt, toName("systemPrompt"), host) ?? join(promptsDir, "_system.md"),
    contextSummaryPrompt:
      findExistingFile(options.contextSummaryPrompt, toName("contextSummaryPrompt"), host) ??
      join(promptsDir, "_context-summary.md"),
    kiroBinary: options.sandbox ? options.kiroBinary : toBinary(options.kiroBinary, host),
    kiroDataDir: toAbsolutePath(options.kiroDataDir ?? toKiroDataDir(host), host),
    stateDir: toAbsolutePath(options.stateDir ?? toStateDir(host), host),
    maxTurnsPerMinute: toTurnRateLimits(options.maxTurnsPerMinute),
    retention: {
      maxAgeMs: parseDuration(keepRuns, toName("keepRuns")) || undefined,
      maxBytes: maxRunsBytes || undefined,
    },
    sessionTtlMs: parseTime(sessionTtl, { option: toName("sessionTtl"), most: "3650d" }),
    softDeadline: toSoftDeadline(softDeadline, toName("softDeadline")),
    heartbeatMs: parseTime(heartbeat, { option: toName("heartbeat"), most: "1h" }),
    sweepEveryMs: parseDuration(sweepEvery, toName("sweepEvery")),
    warmIdleMs: toWarmIdle(warmIdle, toName("warmIdle")),
  };
}

type Source = {
  readonly file: string | undefined;
  readonly content: ConfigFile;
  /** The values of the options, the file's included */
  readonly given: Values;
  /** Returns the name of an option for messages, which depends on its source. */
  readonly toName: (key: ConfigKey) => string;
};

/** Loads the configuration file, and merges it with the options, which take precedence. */
export function loadSource(values: Values, host: Host, defaults: Values = {}): Source {
  const file = toConfigFile(values, host);
  const content = loadConfigFile(file, host.home);
  const given = { ...defaults, ...content.options, ...values };
  const isInFile = (key: ConfigKey): boolean => values[key] === undefined && key in content.options;
  const toName = (key: ConfigKey): string => (isInFile(key) ? `"${key}" in "${file}"` : toOptionName(key));
  return { file, content, given, toName };
}

/** Returns the absolute path of the configuration file that the options name. */
export function toConfigFile(values: Values, host: Host): string | undefined {
  const named = configSchema.shape.config.safeParse(values.config).data;
  return named === undefined ? undefined : toAbsolutePath(named, host);
}

/** Returns the folder. Only the default one may be missing. */
function toAgentsDir(folder: string, { given, toName }: Source, host: Host): string {
  const path = toAbsolutePath(folder, host);
  if (given.agentsDir === undefined) return path;
  return refuseMissing(path, { kind: "directory", option: toName("agentsDir") });
}

/** Returns the protocol, which V3 implies. Throws if the options ask for another one. */
function toProtocol(
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

function toSoftDeadline(text: string, name: string): SoftDeadline {
  if (text === "auto" || text === "never") return text;
  return parseTime(text, { option: `${name}, if not "auto" or "never",`, most: "24h" });
}

function toWarmIdle(text: string, option: string): number {
  return parseDuration(text, option) === 0 ? 0 : parseTime(text, { option, most: "24h" });
}

/** Merges the hosts, roots and sections of the configuration file with the options, which take precedence. */
function toAccess(
  options: Omit<
    z.infer<typeof configSchema>,
    "heartbeat" | "keepRuns" | "maxRunsBytes" | "sessionTtl" | "softDeadline" | "sweepEvery" | "warmIdle"
  >,
  { content, file, toName }: Source,
  host: Host,
): Pick<Config, "allowRoot" | "config" | "configuredAgents" | "hasBackend" | "kagent" | "policies" | "turnLimits"> {
  const { agents, allowRoot, configuredAgents, kagent, maxConcurrent, options: _, ...inFile } = content;
  const { sandbox } = options;
  const timeoutMs = parseTimeout(options.agentTimeout, toName("agentTimeout"));
  return {
    config: file,
    configuredAgents: configuredAgents.length === 0 ? undefined : configuredAgents,
    kagent,
    hasBackend: kagent !== undefined,
    allowRoot: options.allowRoot?.map((root) => toAbsolutePath(root, host)) ?? allowRoot,
    policies: toPolicies({
      ceiling: {
        workspace: options.workspace,
        egress: toEgressCeiling({ options, inFile, file, sandbox }),
        limits: {},
        timeoutMs,
      },
      sections: agents,
      programs: new Set(configuredAgents.flatMap(({ name, program }) => (program === undefined ? [] : [name]))),
      file,
      sandbox,
    }),
    turnLimits: { concurrent: options.maxConcurrent, queued: options.maxQueued, agents: maxConcurrent },
  };
}

function toConfigError({ issues: [issue] }: z.ZodError, values: Readonly<Record<string, unknown>>): BudgieError {
  const [key = ""] = issue?.path.map(String) ?? [];
  const value = issue?.path.length === 2 ? (values[key] as readonly unknown[])[Number(issue.path[1])] : values[key];
  return new BudgieError(
    "CONFIG_INVALID",
    `Expected ${toOptionName(key)} to be ${issue?.message}, got ${JSON.stringify(value)}.`,
  );
}

/** Returns an absolute path, since agents start in other folders. A bare name stays, and is searched on the PATH. */
function toBinary(binary: string, host: Host): string {
  return binary.includes("/") ? toAbsolutePath(binary, host) : binary;
}
