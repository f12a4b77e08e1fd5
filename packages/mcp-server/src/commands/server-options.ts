import { Option, type Command } from "commander";
import { configSchema, type ConfigKey } from "../config/config-schema.ts";
import type { KnownFlags } from "./go-flags.ts";
import type { Host } from "../process/host.ts";
import { toFlag, toVariable } from "../config/option-names.ts";

/** Adds the options of the server to the program, in the groups of the help text. */
export function addServerOptions(program: Command): void {
  for (const key of KEYS) program.optionsGroup(HEADINGS[key] ?? program.optionsGroup()).addOption(toOption(key));
  // Overrides a variable, and stands for Go's -verbose=false.
  for (const key of SWITCHES) program.addOption(new Option(`--no-${toName(key)}`).hideHelp());
}

/** Returns the values that the command line gives and, for other options, those of `env`, as text for switches too. */
export function toServerValues(program: Command, env: Host["env"]): Readonly<Record<string, unknown>> {
  const given = program.opts();
  const values = KEYS.map((key) => [key, isFlagged(program, key) ? given[key] : toValue(key, env[toVariable(key)])]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function isFlagged(program: Command, key: ConfigKey): boolean {
  return program.getOptionValueSource(key) === "cli";
}

function toValue(key: ConfigKey, text: string | undefined): unknown {
  return text !== undefined && (key === "allowRoot" || REPEATABLE.has(key)) ? text.split(",") : text;
}

/** Returns the flag or the variable that sets an option; `undefined` if none does. */
export function toSource(program: Command, env: Host["env"], key: ConfigKey): string | undefined {
  if (isFlagged(program, key)) return toFlag(key);
  return env[toVariable(key)] === undefined ? undefined : toVariable(key);
}

/** Finds the first server option on the command line, and returns its flag. */
export function findServerOption(program: Command): string | undefined {
  const key = KEYS.find((other) => isFlagged(program, other));
  return key && toFlag(key);
}

// Options with a value, and its name in the help text. All other options are switches.
const VALUES: Partial<Record<ConfigKey, string>> = {
  agentsDir: "<dir>",
  promptsDir: "<dir>",
  systemPrompt: "<file>",
  contextSummaryPrompt: "<file>",
  config: "<file>",
  allowRoot: "<dir>",
  model: "<name>",
  env: "<variable>",
  kiroBinary: "<program>",
  protocol: "<name>",
  kiroHarness: "<name>",
  kiroDataDir: "<dir>",
  stateDir: "<dir>",
  toolPrefix: "<text>",
  toolNames: "<spelling>",
  tools: "<mode>",
  sandboxImage: "<image>",
  credentials: "<what>",
  runtime: "<name>",
  acceptWeaker: "<protection>",
  workspace: "<mode>",
  allowMcp: "<name>",
  egress: "<mode>",
  allowHost: "<host>",
  allowPreset: "<name>",
  caFile: "<file>",
  agentTimeout: "<duration>",
  retry: "<when>",
  heartbeat: "<duration>",
  softDeadline: "<duration>",
  maxConcurrent: "<number>",
  maxQueued: "<number>",
  maxTurnsPerMinute: "<limit>",
  maxDepth: "<number>",
  maxPromptBytes: "<number>",
  maxAnswerBytes: "<number>",
  sessionsDir: "<dir>",
  sessionTtl: "<duration>",
  warmIdle: "<duration>",
  ahead: "<number>",
  sweepEvery: "<duration>",
  keepRuns: "<duration>",
  maxRunsBytes: "<number>",
  transport: "<how>",
  host: "<address>",
  port: "<number>",
  httpTokenFile: "<file>",
  httpAllowedHost: "<name>",
  httpAllowedOrigin: "<origin>",
  httpSessionTtl: "<duration>",
};
// Each of these options starts a group in the help text.
const HEADINGS: Partial<Record<ConfigKey, string>> = {
  agentsDir: "Agents:",
  toolPrefix: "Tools:",
  sandbox: "Sandbox:",
  egress: "A sandbox's network:",
  agentTimeout: "Turns:",
  sessionsDir: "Sessions:",
  keepAnswers: "Run log:",
  transport: "Transport:",
  listTools: "Diagnosis:",
};
const REPEATABLE: ReadonlySet<ConfigKey> = new Set([
  "acceptWeaker",
  "allowMcp",
  "allowHost",
  "allowPreset",
  "env",
  "httpAllowedHost",
  "httpAllowedOrigin",
  "maxTurnsPerMinute",
]);
const KEYS = Object.keys(configSchema.shape) as readonly ConfigKey[];
const SWITCHES = KEYS.filter((key) => VALUES[key] === undefined);

/** The flags of the server, with and without a value. */
export const SERVER_FLAGS: KnownFlags = {
  valued: new Set(Object.keys(VALUES).map(toName)),
  switches: new Set([...SWITCHES.map(toName), "help", "version"]),
};

function toOption(key: ConfigKey): Option {
  const description = configSchema.shape[key].description;
  const option = new Option([toFlag(key), VALUES[key]].join(" ").trim(), description).env(toVariable(key));
  if (key === "allowRoot") return option.argParser(collect);
  if (REPEATABLE.has(key)) return option.argParser(append);
  const fallback = toDefault(key);
  return fallback === undefined ? option : option.default(fallback);
}

/** Returns the default that the help text shows. */
function toDefault(key: ConfigKey): string | undefined {
  const fallback = DEFAULTS[key];
  return typeof fallback === "string" ? fallback : undefined;
}

const DEFAULTS: Partial<Record<ConfigKey, unknown>> = configSchema.parse({});

function toName(key: string): string {
  return toFlag(key).slice(2);
}

/** Adds the values of one more occurrence of a repeatable option. */
export function append(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(",")];
}

/** Appends a path. A comma separates paths only in a variable, since a path may contain one. */
function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}
