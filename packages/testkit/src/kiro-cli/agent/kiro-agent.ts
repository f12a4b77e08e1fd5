import type { Rule } from "./rule.ts";

/** An agent, as both harnesses run it. */
export type KiroAgent = {
  readonly name: string;
  readonly origin: "bundled" | "client" | "user" | "workspace";
  /** Path of its file; `undefined` for one without */
  readonly file: string | undefined;
  readonly tools: readonly string[];
  /** Only V2 obeys it */
  readonly allowedTools: readonly string[];
  /** Only V3 obeys them */
  readonly rules: readonly Rule[];
  readonly model: string | undefined;
  /** By trigger, in lower case */
  readonly hooks: ReadonlyMap<string, readonly string[]>;
  readonly mcpServers: Readonly<Record<string, McpServer>>;
  /** Also starts the servers of the `mcp.json` files */
  readonly includesMcpJson: boolean;
};

/** An MCP server: its command on stdio, or its address. */
export type McpServer = {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly disabled?: boolean;
};

/** Returns a built-in agent, which may use all tools. */
export function toBundledAgent(name: string): KiroAgent {
  const nothing = { file: undefined, allowedTools: [], rules: [], model: undefined, hooks: new Map(), mcpServers: {} };
  return { name, origin: "bundled", ...nothing, tools: ["*"], includesMcpJson: true };
}

/** Returns the fields of an agent that its file and its definition on the wire have in common. */
export function toAgentFields(fields: Readonly<Record<string, unknown>>) {
  return {
    tools: toTexts(fields["tools"]),
    model: toText(fields["model"]),
    mcpServers: (fields["mcpServers"] ?? {}) as KiroAgent["mcpServers"],
  };
}

/** Returns a value that is text. */
export function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the texts of a list, or of a text with commas. */
export function toTexts(value: unknown): readonly string[] {
  if (typeof value === "string") return value.split(/\s*,\s*/);
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
