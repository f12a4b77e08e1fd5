import { relative } from "node:path";
import type { KiroAgent } from "./kiro-agent.ts";
import { toEffect, toPattern, type Rule } from "./rule.ts";
import { toLongName, toShortName, type ToolCall } from "./tool-call.ts";

/** The tools that the command line or the user trusts in addition to the agent's `allowedTools`. */
export type ToolTrust = { readonly all: boolean; readonly tools: readonly string[] };

/**
 * A decision on a tool call. `unclear`: a user must be asked, if there is one. `missing`: the agent's `tools` do not name the tool, so the
 * model does not know it.
 */
export type ToolDecision = "allowed" | "denied" | "missing" | "unclear";

/** The reasons for a decision. */
export type ToolPolicy = {
  readonly agent: KiroAgent;
  readonly trust: ToolTrust;
  /** `undefined` for V2 */
  readonly v3: V3Policy | undefined;
};

/** The policy of V3 beside the agent's own rules. */
export type V3Policy = { readonly rules: readonly Rule[]; readonly autopilot: boolean };

/** Decides on a tool call. */
export function decideTool(call: ToolCall, { agent, trust, v3 }: ToolPolicy): ToolDecision {
  if (!isOffered(call, agent)) return "missing";
  if (v3 !== undefined) return decideByRules(call, { agent, trust, v3 });
  const isTrusted = trust.all || matchesAny([...agent.allowedTools, ...trust.tools], call.name);
  return isTrusted || isReadInside(call) ? "allowed" : "unclear";
}

function isOffered({ name }: ToolCall, { tools }: KiroAgent): boolean {
  return (tools.length === 1 && tools[0] === "*") || matchesAny(tools, name);
}

/** Decides like V3, which does not obey `allowedTools`, and asks nobody on autopilot. */
function decideByRules(call: ToolCall, { agent, trust, v3 }: ToolPolicy & { readonly v3: V3Policy }): ToolDecision {
  const effect = toEffect([...v3.rules, ...agent.rules], call);
  if (effect === "deny") return "denied";
  if (trust.all || matchesAny(trust.tools, call.name)) return "allowed";
  if (effect !== undefined) return effect === "allow" ? "allowed" : "unclear";
  return v3.autopilot || isReadInside(call) ? "allowed" : "unclear";
}

/** Tells if a call reads a file of the current folder, which is always allowed. */
function isReadInside({ name, path }: ToolCall): boolean {
  if (toShortName(name) !== "read" || path === undefined) return false;
  return !relative(process.cwd(), path).startsWith("..");
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  const [server] = name.split("/");
  const own = [name, toShortName(name), toLongName(name), "@builtin"];
  // `@mcp` is a name of V3, which no server of a test has.
  const names = name.startsWith("@") ? [name, server, "@mcp"] : own;
  return patterns.some((pattern) => names.some((each) => each !== undefined && matches(pattern, each)));
}

function matches(pattern: string, name: string): boolean {
  // A pattern without `@` never matches a server's tools.
  return name.startsWith("@") === pattern.startsWith("@") && toPattern(pattern).test(name);
}
