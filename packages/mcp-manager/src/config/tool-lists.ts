import type { ConfigSource } from "./config-source.ts";

/** Patterns for the tools of MCP servers: `@server` or `@server/tool`, with `*` for any characters and `?` for one. */
export type ToolList = readonly string[];

export type ToolListOptions = {
  /** Kiro is told to trust all tools, so that `allowedTools` does not count */
  readonly trustsAll: boolean;
};

/**
 * Returns the lists of an agent's file that narrow its tools, each of which must name a tool: `tools`, by which Kiro gives an agent its
 * tools, and `allowedTools`, without which Kiro refuses them when nobody can be asked. A list that is left out narrows nothing.
 */
export function parseToolLists({ content }: ConfigSource, { trustsAll }: ToolListOptions): readonly ToolList[] {
  const { allowedTools, tools } = Object(content) as { readonly allowedTools?: unknown; readonly tools?: unknown };
  return [
    // Only here does a star alone name the tools of servers too.
    ...toList(tools).map((list) => (list.includes("*") ? ["@*"] : list)),
    ...(trustsAll ? [] : toList(allowedTools)),
  ];
}

/** Returns one list, or none if it is left out. A wrong one names nothing. */
function toList(value: unknown): readonly ToolList[] {
  if (value === undefined || value === null) return [];
  return [Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : []];
}

/** Tells whether a list names a tool of a server, by the names that both have themselves. */
export function namesTool(list: ToolList, server: string, tool: string): boolean {
  return list.some((pattern) => {
    if (!pattern.startsWith("@")) return false;
    const [, named = "", , tools = "*"] = /^@([^/]*)(\/(.*))?$/s.exec(pattern) ?? [];
    return matches(named, server) && matches(tools, tool);
  });
}

/** Tells whether a pattern describes a whole name. The time is bounded by the product of their lengths. */
function matches(pattern: string, name: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let index = 0; index < name.length;) {
    if (pattern[at] === "*") [star, from, at] = [at, index, at + 1];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index]))
      [at, index] = [at + 1, index + 1];
    else if (star === -1) return false;
    // The last star takes one character more.
    else [at, index, from] = [star + 1, from + 1, from + 1];
  }
  return /^\**$/.test(pattern.slice(at));
}
