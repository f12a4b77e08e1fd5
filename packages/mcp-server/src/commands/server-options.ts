import { Option, type Command } from "commander";
import { configSchema, type ConfigKey } from "../config/config-schema.ts";
import type { KnownFlags } from "./go-flags.ts";
import type { Host } from "../process/host.ts";
import { toFlag, toVariable } from "../config/option-names.ts";

/** Adds the options of the server to the program, in the groups of the help text. */
export function addServerOptions(program: Command): void {
  for (const key of KEYS) program.optionsGroup(HEADINGS[key] ?? program.optionsGroup()).addOption(toOption(key));
  // The way back from a variable, and from Go's -verbose=false.
  for (const key of SWITCHES) program.addOption(new Option(`--no-${toName(key)}`).hideHelp());
}

/** What was given for them. A switch whose variable is set counts as given, even for `BUDGIE_SANDBOX=0`: so its text is what gets checked. */
export function toServerValues(program: Command, env: Host["env"]): Readonly<Record<string, unknown>> {
  const fromVariables = SWITCHES.filter((key) => program.getOptionValueSource(key) === "env");
  const values = { ...program.opts(), ...Object.fromEntries(fromVariables.map((key) => [key, env[toVariable(key)]])) };
  if (program.getOptionValueSource("allowRoot") !== "env") return values;
  return { ...values, allowRoot: env[toVariable("allowRoot")]?.split(",") };
}

/** The flag of the first one that the command line has: a command may have no use for any. */
export function findServerOption(program: Command): string | undefined {
  const key = KEYS.find((other) => program.getOptionValueSource(other) === "cli");
  return key && toFlag(key);
}

// What takes a value, and how the help text calls it; the other options are switches.
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
  kiroDataDir: "<dir>",
  stateDir: "<dir>",
  toolPrefix: "<text>",
  toolNames: "<spelling>",
  tools: "<mode>",
  sandboxImage: "<image>",
  credentials: "<what>",
  runtime: "<name>",
  acceptWeaker: "<wall>",
  workspace: "<mode>",
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
// In the help text each of these begins a group of options.
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
  "allowHost",
  "allowPreset",
  "env",
  "httpAllowedHost",
  "httpAllowedOrigin",
  "maxTurnsPerMinute",
]);
const KEYS = Object.keys(configSchema.shape) as readonly ConfigKey[];
const SWITCHES = KEYS.filter((key) => VALUES[key] === undefined);

/** The flags, with which of them take a value. */
export const SERVER_FLAGS: KnownFlags = {
  valued: new Set(Object.keys(VALUES).map(toName)),
  switches: new Set(SWITCHES.map(toName)),
};

function toOption(key: ConfigKey): Option {
  const description = configSchema.shape[key].description;
  const option = new Option([toFlag(key), VALUES[key]].join(" ").trim(), description).env(toVariable(key));
  if (key === "allowRoot") return option.argParser(collect);
  if (REPEATABLE.has(key)) return option.argParser(append);
  const fallback = DEFAULTS[key];
  return typeof fallback === "string" ? option.default(fallback) : option;
}

const DEFAULTS: Partial<Record<ConfigKey, unknown>> = configSchema.parse({});

function toName(key: string): string {
  return toFlag(key).slice(2);
}

/** Adds to the values of a repeatable option those of one more time that it is given. */
export function append(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, ...value.split(",")];
}

/** The same for paths, which may hold a comma; only in a variable it parts two of them. */
function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}
