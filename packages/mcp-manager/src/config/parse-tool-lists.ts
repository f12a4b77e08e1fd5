import type { ConfigSource } from "./config-source.ts";

/** Patterns for the tools of MCP servers: `@server` or `@server/tool`, with `*` for any characters and `?` for one; `@mcp` is all of them. */
export type ToolList = readonly string[];

export type ToolListOptions = {
  /** True if Kiro trusts all tools, so that `allowedTools` does not count */
  readonly trustsAll: boolean;
};

/**
 * Returns the lists in an agent's file that restrict its tools; each must name a tool. Kiro gives an agent the tools in `tools`. It
 * refuses those outside `allowedTools` when there is nobody to ask. A list that is left out restricts nothing.
 */
export function parseToolLists({ content }: ConfigSource, { trustsAll }: ToolListOptions): readonly ToolList[] {
  const { allowedTools, tools } = Object(content) as { readonly allowedTools?: unknown; readonly tools?: unknown };
  return [
    // Only in `tools`, a lone star includes the tools of servers.
    ...parseList(tools).map((list) => (list.includes("*") ? ["@*"] : list)),
    ...(trustsAll ? [] : parseList(allowedTools)),
  ];
}

/** Returns the list; none if it is left out. A malformed list names no tool. */
function parseList(value: unknown): readonly ToolList[] {
  if (value === undefined || value === null) return [];
  const names = Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
  return [names.map((name) => (name === "@mcp" ? "@*" : name))];
}

/** Tells whether a list names a server's tool, by the original names of both. */
export function namesTool(list: ToolList, server: string, tool: string): boolean {
  return list.some((pattern) => {
    if (!pattern.startsWith("@")) return false;
    const [, named = "", , tools = "*"] = /^@([^/]*)(\/(.*))?$/s.exec(pattern) ?? [];
    return matches(named, server) && matches(tools, tool);
  });
}

/** Tells whether a pattern matches a whole name. The time is bounded by the product of their lengths. */
function matches(pattern: string, name: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let index = 0; index < name.length;) {
    if (pattern[at] === "*") [star, from, at] = [at, index, at + 1];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index]))
      [at, index] = [at + 1, index + 1];
    else if (star === -1) return false;
    // Backtracks: the last star matches one more character.
    else [at, index, from] = [star + 1, from + 1, from + 1];
  }
  return /^\**$/.test(pattern.slice(at));
}
