import { Option, type Command } from "commander";
import { configSchema, OPTION_KEYS, optionFacts, type ConfigKey } from "../options/config-schema.ts";
import type { KnownFlags } from "./double-dashes.ts";
import type { Host } from "@budgie/mcp-server";
import { toFlag, toVariable } from "../options/format-option-name.ts";

/** Adds the options of the server to the program, in the groups of the help text. */
export function addServerOptions(program: Command): void {
  for (const key of OPTION_KEYS) program.optionsGroup(optionFacts(key).group).addOption(buildOption(key));
  // Overrides a variable, and stands for Go's -verbose=false.
  for (const key of SWITCHES) program.addOption(new Option(`--no-${nameOf(key)}`).hideHelp());
}

/** Returns the values that the command line gives and, for other options, those of `env`, as text for switches too. */
export function readServerValues(program: Command, env: Host["env"]): Readonly<Record<string, unknown>> {
  const given = program.opts();
  const values = OPTION_KEYS.map((key) => [
    key,
    isFlagged(program, key) ? given[key] : readValue(key, env[toVariable(key)]),
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function isFlagged(program: Command, key: ConfigKey): boolean {
  return program.getOptionValueSource(key) === "cli";
}

function readValue(key: ConfigKey, text: string | undefined): unknown {
  return text !== undefined && optionFacts(key).repeatable !== undefined ? text.split(",") : text;
}

/** Returns the flag or the variable that sets an option; `undefined` if none does. */
export function findSource(program: Command, env: Host["env"], key: ConfigKey): string | undefined {
  if (isFlagged(program, key)) return toFlag(key);
  return env[toVariable(key)] === undefined ? undefined : toVariable(key);
}

/** Returns a line for each given option that moved to the configuration file: its flag and variable still work. */
export function listMoved(program: Command, env: Host["env"]): readonly string[] {
  return OPTION_KEYS.filter((key) => optionFacts(key).visibility === "file").flatMap((key) => {
    const source = findSource(program, env, key);
    if (source === undefined) return [];
    const name = program.opts()[key] === false ? source.replace(/^--/, "--no-") : source;
    return [`${name} still works, and has moved to the configuration file (--config): its key "${key}".`];
  });
}

/**
 * Returns the server options of the command line as arguments for a server in another directory: paths as the configuration resolved them.
 * `sandbox` and `allowRoot` are left out, which every entry of a client gets from elsewhere.
 */
export function listGivenOptions(program: Command, config: object): readonly string[] {
  const resolved = config as Readonly<Record<string, unknown>>;
  const given = OPTION_KEYS.filter((key) => isFlagged(program, key) && key !== "sandbox" && key !== "allowRoot");
  return given.flatMap((key) => toArguments(key, program.opts()[key], resolved[key]));
}

function toArguments(key: ConfigKey, given: unknown, resolved: unknown): readonly string[] {
  if (typeof given === "boolean") return [given ? toFlag(key) : toFlag(key).replace(/^--/, "--no-")];
  if (Array.isArray(given)) return given.flatMap((value) => [toFlag(key), String(value)]);
  return [toFlag(key), String(typeof resolved === "string" ? resolved : given)];
}

/** Finds the first server option on the command line, and returns its flag. */
export function findServerOption(program: Command): string | undefined {
  const key = OPTION_KEYS.find((other) => isFlagged(program, other));
  return key && toFlag(key);
}

const SWITCHES = OPTION_KEYS.filter((key) => optionFacts(key).value === undefined);

/** The flags of the server, with and without a value. */
export const SERVER_FLAGS: KnownFlags = {
  valued: new Set(OPTION_KEYS.filter((key) => !SWITCHES.includes(key)).map(nameOf)),
  switches: new Set([...SWITCHES.map(nameOf), "help", "version"]),
};

function buildOption(key: ConfigKey): Option {
  const { help, repeatable, value = "", visibility = "help" } = optionFacts(key);
  const option = new Option(`${toFlag(key)} ${value}`.trim(), help).hideHelp(visibility !== "help");
  if (repeatable === "paths") return option.argParser(collect);
  if (repeatable === "list") return option.argParser(append);
  const fallback = findDefault(key);
  return fallback === undefined ? option : option.default(fallback);
}

/** Returns the default that the help text shows. */
function findDefault(key: ConfigKey): string | undefined {
  const fallback = DEFAULTS[key];
  return typeof fallback === "string" ? fallback : undefined;
}

const DEFAULTS: Partial<Record<ConfigKey, unknown>> = configSchema.parse({});

function nameOf(key: string): string {
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
