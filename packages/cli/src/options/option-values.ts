import { isIPv6 } from "node:net";
import { z } from "zod";
import { BudgieError } from "@budgie/core";
import { parseDuration, parseTimeout } from "@budgie/core/text";
import type { ClusterSection, NamingOptions, ServerConfig, SoftDeadline, ToolMode } from "@budgie/mcp-server";

/** The schema of a path. */
export const PATH = z.string().min(1, "a path");

/** The schema of a switch. */
export const SWITCH = z.union([z.boolean(), z.stringbool()], '"true" or "false"');

/** The values of `--tools`: a tool for each agent, the router's two for all of them, or both. */
export const TOOL_MODES = ["agents", "router", "both"] as const satisfies readonly ToolMode[];

/** The values of `--tool-names`: the spelling of the first budgie, or one that every client accepts. */
export const SPELLINGS = ["dotted", "safe"] as const satisfies readonly NamingOptions["toolNames"][];

/** The way to talk to Kiro's agents. */
export const PROTOCOL = z.enum(["cli", "acp"], '"cli" or "acp"').default("cli");

/** The harness of Kiro. */
export const KIRO_HARNESS = z.enum(["v2", "v3"], '"v2" or "v3"').default("v2");

/** The protections that an engine may lack. */
export const ENGINE_PROTECTIONS = ["limits", "seccomp", "ulimits"] as const satisfies ServerConfig["acceptWeaker"];

/** The protections that a cluster may lack. */
export const CLUSTER_PROTECTIONS = ["policy", "jail", "own-node"] as const satisfies ClusterSection["acceptWeaker"];

/** The prefix of the tools' names. */
export const TOOL_PREFIX = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{0,60}$/, 'at most 60 letters, digits, "_", "-" and "."')
  .default("kiro-subagents.");

/** Schemas of numeric options, given as text. */
export const NUMBERS = {
  limit: parseNumber(/^\d{1,15}$/, "a number of bytes, or 0 for no limit"),
  depth: parseNumber(/^[1-9]\d?$/, "a number from 1 to 99"),
  count: parseNumber(/^\d{1,9}$/, "a whole number"),
  parallel: parseNumber(/^(?:\d|[1-5]\d|6[0-4])$/, "a whole number from 0 to 64"),
  positive: parseNumber(/^[1-9]\d{0,8}$/, "a whole number of at least 1"),
  tcpPort: parseNumber(/^\d{1,5}$/, "a port from 0 to 65535").refine(
    (port) => port <= 65_535,
    "a port from 0 to 65535",
  ),
} as const;

/** The schema of a host's name or address. */
export const HOST_NAME = z
  .string()
  .refine(
    (name) => /^[\w.-]+$/.test(name) || isIPv6(name.replace(/^\[(.*)\]$/, "$1")),
    "a name or address, without a port",
  );

/** The schema of an origin of web pages. */
export const ORIGIN = z
  .string()
  .regex(
    /^https?:\/\/[\w.-]+(?::\d{1,5})?$|^https?:\/\/\[[\da-f:.]+\](?::\d{1,5})?$/,
    "an origin, such as https://example.com",
  );

function parseNumber(pattern: RegExp, expected: string) {
  return z.string().regex(pattern, expected).transform(Number);
}

type TimeOptions = {
  /** The name of the option in messages */
  readonly option: string;
  readonly most: string;
};

/** Parses a duration to milliseconds. Throws `CONFIG_INVALID` for 0 and for more than `most`. */
export function parseTime(text: string, { most, option }: TimeOptions): number {
  const timeMs = parseTimeout(text, option);
  if (timeMs <= parseDuration(most, option)) return timeMs;
  throw new BudgieError("CONFIG_INVALID", `Expected ${option} to be at most ${most}, got "${text}".`);
}

/** Parses the time that a process waits to milliseconds; 0 if none does. Throws like {@link parseTime}. */
export function parseWarmIdle(text: string, option: string): number {
  return parseDuration(text, option) === 0 ? 0 : parseTime(text, { option, most: "24h" });
}

/** Parses a deadline to milliseconds, unless it is a word. Throws like {@link parseTime}. */
export function parseSoftDeadline(text: string, name: string): SoftDeadline {
  if (text === "auto" || text === "never") return text;
  return parseTime(text, { option: `${name}, if not "auto" or "never",`, most: "24h" });
}
