import { parseArgs, type ParseArgsConfig } from "node:util";
import { toExitError, toReason } from "./profile/exit-error.ts";
import type { Harness, Profile } from "./profile/settings.ts";
import type { ToolTrust } from "./agent/decide-tool.ts";

export type KiroArguments = {
  readonly harness: Harness;
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly trust: ToolTrust;
  readonly interactive: boolean;
  readonly resume: boolean;
  readonly resumeId: string | undefined;
  readonly format: "text" | "stream-json";
  readonly listModels: "no" | "plain" | "json";
  readonly listSessions: boolean;
  /** True if `kiro-cli` has the login of the V3 harness, which otherwise asks its client */
  readonly ownsLogin: boolean;
  /** Any `-v`; the real program then logs to stdout, between the lines of the answer */
  readonly verbose: boolean;
  readonly help: boolean;
  readonly deprecatedProfile: boolean;
  readonly input: string | undefined;
};

const COMMON = {
  agent: { type: "string" },
  profile: { type: "string" },
  model: { type: "string" },
  "trust-all-tools": { type: "boolean", short: "a" },
  "trust-tools": { type: "string" },
  "no-interactive": { type: "boolean" },
  "non-interactive": { type: "boolean" },
  resume: { type: "boolean", short: "r" },
  wrap: { type: "string", short: "w" },
  verbose: { type: "boolean", short: "v", multiple: true },
  help: { type: "boolean", short: "h" },
} as const satisfies ParseArgsConfig["options"];

const SECOND_ENGINE = {
  "resume-id": { type: "string" },
  "list-models": { type: "boolean" },
  format: { type: "string" },
  effort: { type: "string" },
  "require-mcp-startup": { type: "boolean" },
} as const satisfies ParseArgsConfig["options"];

const STREAM_JSON = { "output-format": { type: "string" } } as const satisfies ParseArgsConfig["options"];

const HARNESSES = {
  v2: { type: "boolean" },
  v3: { type: "boolean" },
  "agent-engine": { type: "string" },
  "auth-method": { type: "string" },
  "list-sessions": { type: "boolean" },
} as const satisfies ParseArgsConfig["options"];

const OPTIONS = { ...COMMON, ...SECOND_ENGINE, ...STREAM_JSON, ...HARNESSES };

/** The options that each profile's version does not know. */
const UNKNOWN: Readonly<Record<Profile, object>> = {
  q1: { ...SECOND_ENGINE, ...STREAM_JSON, ...HARNESSES },
  v2: { ...STREAM_JSON, ...HARNESSES },
  v2json: HARNESSES,
  v2late: {},
  v3: {},
};

type Command = "acp" | "chat";

/** Parses the arguments of a command. Options that the profile's version does not know end with exit code 2. */
export function parseArguments(command: Command, argv: readonly string[], profile: Profile): KiroArguments {
  const { values, positionals } = parseFlags(argv, profile);
  if (positionals.length > 1) throw toUsageError(`unexpected argument '${positionals[1]}' found`);
  const format = parseChoice("--output-format", values["output-format"], ["text", "stream-json"]);
  const harness = parseHarness(values) ?? toDefaultHarness(command, profile);
  if (command === "acp" && harness === "v3") refuseFlags(values);
  return {
    harness,
    agent: values.agent ?? values.profile,
    model: values.model,
    trust: { all: values["trust-all-tools"] === true, tools: (values["trust-tools"] ?? "").split(",").filter(Boolean) },
    interactive: isInteractive(values, format),
    resume: values.resume === true,
    resumeId: values["resume-id"],
    format: format ?? "text",
    listModels: toListing(values["list-models"] === true, values.format),
    listSessions: values["list-sessions"] === true,
    ownsLogin: values["auth-method"] === "cli",
    verbose: values.verbose !== undefined,
    help: values.help === true,
    deprecatedProfile: values.profile !== undefined,
    input: positionals[0],
  };
}

function parseFlags(argv: readonly string[], profile: Profile) {
  // One type for all profiles; a flag that a profile lacks is always undefined.
  const known = Object.entries(OPTIONS).filter(([name]) => !(name in UNKNOWN[profile]));
  const options = Object.fromEntries(known) as typeof OPTIONS;
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    throw toUsageError(toReason(error));
  }
}

type Flags = ReturnType<typeof parseFlags>["values"];

function parseHarness({ "agent-engine": engine, v2, v3 }: Flags): Harness | undefined {
  const named = [v2 === true ? "v2" : undefined, v3 === true ? "v3" : undefined, engine].filter(Boolean);
  if (named.length > 1) throw toUsageError("--v2, --v3 and --agent-engine cannot be used together");
  return parseChoice("--agent-engine", named[0], ["v2", "v3"]);
}

/** Returns the harness of a command that names none: V2 as documented for `chat`; for `acp` of 3.x nobody has seen it. */
function toDefaultHarness(command: Command, profile: Profile): Harness {
  return command === "acp" && profile === "v3" ? "v3" : "v2";
}

const REFUSED = ["agent", "model", "effort", "trust-all-tools", "trust-tools"] as const;

function refuseFlags(values: Flags): void {
  const given = REFUSED.filter((name) => values[name] !== undefined).map((name) => `--${name}`);
  if (given.length === 0) return;
  throw toExitError(2, `error: the following arguments are not supported with --agent-engine v3: ${given.join(", ")}`);
}

function isInteractive(values: Flags, format: string | undefined): boolean {
  return values["no-interactive"] !== true && values["non-interactive"] !== true && format !== "stream-json";
}

function toListing(listModels: boolean, format: string | undefined): KiroArguments["listModels"] {
  if (!listModels) return "no";
  return format === undefined ? "plain" : "json";
}

function parseChoice<T extends string>(flag: string, value: string | undefined, choices: readonly T[]): T | undefined {
  const choice = choices.find((each) => each === value);
  if (value === undefined || choice !== undefined) return choice;
  throw toUsageError(`invalid value '${value}' for '${flag}': [possible values: ${choices.join(", ")}]`);
}

/** Creates the error of an invalid command line. */
export function toUsageError(message: string): Error {
  return toExitError(2, `error: ${message}\n\nUsage: kiro-cli <COMMAND>\n\nFor more information, try '--help'.`);
}
