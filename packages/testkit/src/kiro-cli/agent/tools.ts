import { relative } from "node:path";
import type { KiroAgent } from "./agents.ts";

/** The tools that the command line trusts in addition to the agent's `allowedTools`. */
export type ToolTrust = { readonly all: boolean; readonly tools: readonly string[] };

/** A call of a tool. */
export type ToolCall = {
  /** The name that agent files use, such as `fs_write`, or `@server/tool` */
  readonly name: string;
  /** The file it acts on */
  readonly path: string | undefined;
  readonly input: Readonly<Record<string, string>>;
};

/** A decision on a tool call. `missing`: the agent's `tools` do not name the tool, so the model does not know it. */
export type ToolDecision = "allowed" | "denied" | "missing";

// The second engine has shorter names, and accepts both.
const SHORT_NAMES: Readonly<Record<string, string>> = {
  fs_read: "read",
  fs_write: "write",
  execute_bash: "shell",
  use_aws: "aws",
};

/** Returns the second engine's name of a tool. */
export function toShortName(name: string): string {
  return SHORT_NAMES[name] ?? name;
}

/** Decides on a tool call without a user to ask. */
export function decideTool(call: ToolCall, agent: KiroAgent, trust: ToolTrust): ToolDecision {
  const everything = agent.tools.length === 1 && agent.tools[0] === "*";
  if (!everything && !matchesAny(agent.tools, call.name)) return "missing";
  if (trust.all || isReadInside(call) || matchesAny([...agent.allowedTools, ...trust.tools], call.name)) {
    return "allowed";
  }
  return "denied";
}

/** Tells if a call reads a file of the current folder, which is always allowed. */
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
  // A pattern without `@` never matches a server's tools.
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
