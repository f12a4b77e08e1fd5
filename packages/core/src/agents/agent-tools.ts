import { matchesGlob } from "../text/matches-glob.ts";
import type { AgentDefinition } from "./agent-definition.ts";

type ToolName = {
  /** `undefined` if Kiro has no such tool */
  readonly kiros: string | undefined;
  /** True if the file allows only some uses of it, such as `Bash(git diff)`, which no list of tools can say */
  readonly isPartial: boolean;
};

/** Translates a tool's name: Claude Code's become Kiro's tags, and all others stay. */
function toToolName(written: string): ToolName {
  const { name, uses } = /^(?<name>[^\s()]+)\s*(?:\((?<uses>[^()]*)\))?$/.exec(written)?.groups ?? {};
  if (name === undefined) return { kiros: written, isPartial: false };
  return { kiros: toKiroTool(name), isPartial: !["", "*", ":*"].includes(uses?.trim() ?? "") };
}

function toKiroTool(name: string): string | undefined {
  if (name.startsWith("mcp__")) {
    const [server = "", ...tool] = name.slice("mcp__".length).split("__");
    return tool.length === 0 || tool[0] === "*" ? `@${server}` : `@${server}/${tool.join("__")}`;
  }
  const tag = KIROS.has(name) ? name : (CLAUDES.get(name.toLowerCase()) ?? name);
  return tag === NONE ? undefined : tag;
}

const NONE = "";

// Spelled like Claude Code's but for the case.
const KIROS: ReadonlySet<string> = new Set(["glob", "grep", "read", "write"]);

// In lower case, since people write them in any.
const CLAUDES: ReadonlyMap<string, string> = new Map([
  ["bash", "shell"],
  ["bashoutput", "shell"],
  ["killbash", "shell"],
  ["killshell", "shell"],
  ["read", "read"],
  ["grep", "read"],
  ["glob", "read"],
  ["write", "write"],
  ["edit", "write"],
  ["multiedit", "write"],
  ["notebookedit", "write"],
  ["ls", "read"],
  ["notebookread", "read"],
  ["webfetch", "web"],
  ["websearch", "web"],
  ["task", "subagent"],
  ["agent", "subagent"],
  ...["askuserquestion", "enterplanmode", "exitplanmode", "skill", "slashcommand", "todoread", "todowrite"].map(
    (name) => [name, NONE] as const,
  ),
]);

/** Returns the tools that Kiro knows for those of a file, once each. A tool that is allowed in part is among those only if `partly`. */
export function toKiroTools(written: readonly string[], { partly }: { readonly partly: boolean }): readonly string[] {
  const names = written.map(toToolName).filter(({ isPartial }) => partly || !isPartial);
  return [...new Set(names.flatMap(({ kiros }) => kiros ?? []))];
}

/** A kind of action in `permissions.rules`. */
export type Capability = "fs_read" | "fs_write" | "mcp" | "shell" | "subagent" | "web_fetch" | "web_search";

/**
 * Returns what the rules of a file say about every use of a capability: `deny` before `ask` before `allow`. A rule for some uses can
 * only restrict, and `undefined` leaves the decision to `allowedTools`.
 */
export function toEffect({ permissions }: Pick<AgentDefinition, "permissions">, capability: Capability) {
  const group = capability.startsWith("fs_") ? "filesystem" : capability;
  const rules = permissions?.rules.filter((rule) => [capability, group, "all"].includes(rule.capability)) ?? [];
  const effects = rules.filter((rule) => rule.effect !== "allow" || isForAll(rule)).map(({ effect }) => effect);
  return (["deny", "ask", "allow"] as const).find((effect) => effects.includes(effect));
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
    const effect = toEffect(definition, names[0]);
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
