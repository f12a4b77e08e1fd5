import { relative } from "node:path";
import type { KiroAgent } from "./agents.ts";

/** What the command line trusts besides the agent's own `allowedTools`. */
export type ToolTrust = { readonly all: boolean; readonly tools: readonly string[] };

/** One use of a tool. */
export type ToolCall = {
  /** The name that agent files use, such as `fs_write`, or `@server/tool` */
  readonly name: string;
  /** The file it is about */
  readonly path: string | undefined;
  readonly input: Readonly<Record<string, string>>;
};

/** `missing`: the agent's `tools` do not name it, so its model never hears of it. */
export type ToolDecision = "allowed" | "denied" | "missing";

// The second engine shortened the names, and takes both.
const SHORT_NAMES: Readonly<Record<string, string>> = {
  fs_read: "read",
  fs_write: "write",
  execute_bash: "shell",
  use_aws: "aws",
};

/** The name that the second engine shows for a tool. */
export function toShortName(name: string): string {
  return SHORT_NAMES[name] ?? name;
}

/** Decides about a tool when there is no user to ask. */
export function decideTool(call: ToolCall, agent: KiroAgent, trust: ToolTrust): ToolDecision {
  const everything = agent.tools.length === 1 && agent.tools[0] === "*";
  if (!everything && !matchesAny(agent.tools, call.name)) return "missing";
  if (trust.all || isReadInside(call) || matchesAny([...agent.allowedTools, ...trust.tools], call.name)) {
    return "allowed";
  }
  return "denied";
}

/** Files of the current folder may always be read. */
function isReadInside({ name, path }: ToolCall): boolean {
  if (toShortName(name) !== "read" || path === undefined) return false;
  return !relative(process.cwd(), path).startsWith("..");
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  const [server] = name.split("/");
  const names = name.startsWith("@") ? [name, server] : [name, toShortName(name), toLongName(name), "@builtin"];
  return patterns.some((pattern) => names.some((each) => each !== undefined && matches(pattern, each)));
}

function matches(pattern: string, name: string): boolean {
  // A pattern without `@` never speaks of a server's tools.
  if (name.startsWith("@") !== pattern.startsWith("@")) return false;
  const glob = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${glob}$`).test(name);
}

function toLongName(name: string): string | undefined {
  return Object.keys(SHORT_NAMES).find((long) => SHORT_NAMES[long] === name);
}
