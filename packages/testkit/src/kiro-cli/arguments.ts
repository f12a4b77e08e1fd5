import { parseArgs, type ParseArgsConfig } from "node:util";
import { toExitError, toReason } from "./profile/exit-error.ts";
import type { Profile } from "./profile/settings.ts";
import type { ToolTrust } from "./agent/tools.ts";

export type ChatArguments = {
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly trust: ToolTrust;
  readonly interactive: boolean;
  readonly resume: boolean;
  readonly resumeId: string | undefined;
  readonly format: "text" | "stream-json";
  readonly listModels: "no" | "plain" | "json";
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
  "agent-engine": { type: "string" },
  "require-mcp-startup": { type: "boolean" },
} as const satisfies ParseArgsConfig["options"];

const STREAM_JSON = { "output-format": { type: "string" } } as const satisfies ParseArgsConfig["options"];

/** Parses the arguments of `chat`. Options that the profile's version does not know end with exit code 2. */
export function parseChatArguments(argv: readonly string[], profile: Profile): ChatArguments {
  const { values, positionals } = parseFlags(argv, profile);
  if (positionals.length > 1) throw toUsageError(`unexpected argument '${positionals[1]}' found`);
  const format = parseChoice("--output-format", values["output-format"], ["text", "stream-json"]);
  if (format === "stream-json" && values["agent-engine"] === "v1") {
    throw toExitError(1, "error: --output-format stream-json needs the agent engine v2 or later");
  }
  return {
    agent: values.agent ?? values.profile,
    model: values.model,
    trust: { all: values["trust-all-tools"] === true, tools: (values["trust-tools"] ?? "").split(",").filter(Boolean) },
    interactive: isInteractive(values, format),
    resume: values.resume === true,
    resumeId: values["resume-id"],
    format: format ?? "text",
    listModels: toListing(values["list-models"] === true, values.format),
    verbose: values.verbose !== undefined,
    help: values.help === true,
    deprecatedProfile: values.profile !== undefined,
    input: positionals[0],
  };
}

function parseFlags(argv: readonly string[], profile: Profile) {
  // One type for all profiles; a flag that a profile lacks is always undefined.
  const options = { ...COMMON, ...SECOND_ENGINE, ...STREAM_JSON };
  const hidden = profile === "q1" ? { ...SECOND_ENGINE, ...STREAM_JSON } : profile === "v2text" ? STREAM_JSON : {};
  const known = Object.fromEntries(Object.entries(options).filter(([name]) => !(name in hidden))) as typeof options;
  try {
    return parseArgs({ args: [...argv], options: known, allowPositionals: true });
  } catch (error) {
    throw toUsageError(toReason(error));
  }
}

type Flags = ReturnType<typeof parseFlags>["values"];

function isInteractive(values: Flags, format: string | undefined): boolean {
  return values["no-interactive"] !== true && values["non-interactive"] !== true && format !== "stream-json";
}

function toListing(listModels: boolean, format: string | undefined): ChatArguments["listModels"] {
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
