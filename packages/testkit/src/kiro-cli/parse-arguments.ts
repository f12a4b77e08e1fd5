import { parseArgs, type ParseArgsConfig } from "node:util";
import { toExitError, toReason } from "./profile/exit-error.ts";
import type { Harness, Settings } from "./profile/settings.ts";
import type { ToolTrust } from "./agent/decide-tool.ts";

export type KiroArguments = {
  readonly harness: Harness;
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly trust: ToolTrust;
  readonly interactive: boolean;
  readonly resume: boolean;
  readonly resumeId: string | undefined;
  readonly listSessions: boolean;
  /** True if `kiro-cli` has the login of the V3 harness, which otherwise asks its client */
  readonly ownsLogin: boolean;
  readonly help: boolean;
  readonly input: string | undefined;
};

const COMMON = {
  agent: { type: "string" },
  model: { type: "string" },
  "trust-all-tools": { type: "boolean", short: "a" },
  "trust-tools": { type: "string" },
  "no-interactive": { type: "boolean" },
  resume: { type: "boolean", short: "r" },
  "resume-id": { type: "string" },
  effort: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const satisfies ParseArgsConfig["options"];

const HARNESSES = {
  v2: { type: "boolean" },
  v3: { type: "boolean" },
  "agent-engine": { type: "string" },
  "auth-method": { type: "string" },
  "list-sessions": { type: "boolean" },
} as const satisfies ParseArgsConfig["options"];

const OPTIONS = { ...COMMON, ...HARNESSES };

type Command = "acp" | "chat";

/** Parses the arguments of a command. Options that the profile's version does not know end with exit code 2. */
export function parseArguments(command: Command, argv: readonly string[], { traits }: Settings): KiroArguments {
  const { values, positionals } = parseFlags(argv, traits.hasV3);
  if (positionals.length > 1) throw toUsageError(`unexpected argument '${positionals[1]}' found`);
  const harness = parseHarness(values) ?? (command === "acp" ? traits.acp : undefined) ?? "v2";
  if (command === "acp" && harness === "v3") refuseFlags(values);
  return {
    harness,
    agent: values.agent,
    model: values.model,
    trust: { all: values["trust-all-tools"] === true, tools: (values["trust-tools"] ?? "").split(",").filter(Boolean) },
    interactive: values["no-interactive"] !== true,
    resume: values.resume === true,
    resumeId: values["resume-id"],
    listSessions: values["list-sessions"] === true,
    ownsLogin: values["auth-method"] === "cli",
    help: values.help === true,
    input: positionals[0],
  };
}

function parseFlags(argv: readonly string[], hasV3: boolean) {
  // One type for all profiles; a flag that a profile lacks is always undefined.
  const options = hasV3 ? OPTIONS : (COMMON as typeof OPTIONS);
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    throw toUsageError(toReason(error));
  }
}

type Flags = ReturnType<typeof parseFlags>["values"];

function parseHarness({ "agent-engine": engine, v2, v3 }: Flags): Harness | undefined {
  const named = [v2 === true ? "v2" : undefined, v3 === true ? "v3" : undefined, engine].filter(Boolean);
  const [harness] = named;
  if (harness === undefined) return undefined;
  if (named.length === 1 && (harness === "v2" || harness === "v3")) return harness;
  throw toUsageError(`invalid value '${named.join(" ")}' for '--agent-engine': [possible values: v2, v3]`);
}

const REFUSED = ["agent", "model", "effort", "trust-all-tools", "trust-tools"] as const;

function refuseFlags(values: Flags): void {
  const given = REFUSED.filter((name) => values[name] !== undefined).map((name) => `--${name}`);
  if (given.length === 0) return;
  throw toExitError(2, `error: the following arguments are not supported with --agent-engine v3: ${given.join(", ")}`);
}

/** Creates the error of an invalid command line. */
export function toUsageError(message: string): Error {
  return toExitError(2, `error: ${message}\n\nUsage: kiro-cli <COMMAND>\n\nFor more information, try '--help'.`);
}
