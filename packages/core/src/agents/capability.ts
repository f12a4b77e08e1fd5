import { matchesGlob } from "../text/matches-glob.ts";
import type { AgentDefinition } from "./agent-definition.ts";

/** A kind of action in `permissions.rules`. */
export type Capability = "fs_read" | "fs_write" | "mcp" | "shell" | "subagent" | "web_fetch" | "web_search";

/**
 * Returns what the rules of a file say about every use of a capability: `deny` before `ask` before `allow`. A rule for some uses can
 * only restrict, and `undefined` leaves the decision to `allowedTools`.
 */
export function findEffect(definition: Pick<AgentDefinition, "permissions">, capability: Capability) {
  const rules = listRules(definition, capability);
  const effects = rules.filter((rule) => rule.effect !== "allow" || isForAll(rule)).map(({ effect }) => effect);
  return (["deny", "ask", "allow"] as const).find((effect) => effects.includes(effect));
}

/** Returns true if the rules of a file deny every use of a capability. */
export function forbids(definition: Pick<AgentDefinition, "permissions">, capability: Capability): boolean {
  return listRules(definition, capability).some((rule) => rule.effect === "deny" && isForAll(rule));
}

/** Returns true if a rule about all capabilities has one of these effects, for every use or for some. */
export function hasRuleForAll(
  { permissions }: Pick<AgentDefinition, "permissions">,
  effects: readonly string[],
): boolean {
  return permissions?.rules.some(({ capability, effect }) => capability === "all" && effects.includes(effect)) === true;
}

function listRules({ permissions }: Pick<AgentDefinition, "permissions">, capability: Capability) {
  const group = capability.startsWith("fs_") ? "filesystem" : capability;
  return permissions?.rules.filter((rule) => [capability, group, "all"].includes(rule.capability)) ?? [];
}

function isForAll({ exclude, match }: { readonly exclude?: unknown; readonly match?: unknown }): boolean {
  return [match, exclude].every((patterns) => patterns === undefined || patterns === null || isEmpty(patterns));
}

function isEmpty(patterns: unknown): boolean {
  return Array.isArray(patterns) && patterns.length === 0;
}

// The older names of Kiro's tools, and the newer ones.
const FILE_TOOLS = [
  ["fs_read", "read"],
  ["fs_write", "write"],
] as const;

/** Returns true if an agent has the tools that read and write files, and may use them without approval. */
export function allowsFileTools(definition: AgentDefinition): boolean {
  const { allowedTools = [], tools = ["*"] } = definition;
  return FILE_TOOLS.every((names) => {
    const effect = findEffect(definition, names[0]);
    const isAllowed = effect === "allow" || (effect === undefined && holds(allowedTools, names));
    return isAllowed && holds(tools, names);
  });
}

function holds(patterns: readonly string[], names: readonly string[]): boolean {
  return names.some((name) => patterns.some((pattern) => matches(pattern, name)));
}

/** Matches a native tool against a pattern: a glob without `@`, or `@builtin` for all of them. */
function matches(pattern: string, tool: string): boolean {
  if (pattern === "@builtin") return true;
  return matchesGlob(pattern, tool);
}
