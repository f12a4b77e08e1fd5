import { isIPv6 } from "node:net";
import { z } from "zod";
import { BudgieError, parseDuration, parseTimeout } from "@budgie/core";

/** The model for agents that name none, if `--model` is left out. */
export const DEFAULT_MODEL = "claude-sonnet-4.5";

/** The way to talk to Kiro's agents. */
export const PROTOCOL = z.enum(["cli", "acp"], '"cli" or "acp"').default("cli");

/** The harness of Kiro. */
export const KIRO_HARNESS = z.enum(["v2", "v3"], '"v2" or "v3"').default("v2");

/** The prefix of the tools' names. */
export const TOOL_PREFIX = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{0,60}$/, 'at most 60 letters, digits, "_", "-" and "."')
  .default("kiro-subagents.");

/** Schemas of numeric options, given as text. */
export const NUMBERS = {
  limit: toNumber(/^\d{1,15}$/, "a number of bytes, or 0 for no limit"),
  depth: toNumber(/^[1-9]\d?$/, "a number from 1 to 99"),
  count: toNumber(/^\d{1,9}$/, "a whole number"),
  positive: toNumber(/^[1-9]\d{0,8}$/, "a whole number of at least 1"),
  tcpPort: toNumber(/^\d{1,5}$/, "a port from 0 to 65535").refine((port) => port <= 65_535, "a port from 0 to 65535"),
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

function toNumber(pattern: RegExp, expected: string) {
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
