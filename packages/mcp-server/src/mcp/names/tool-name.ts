import type { NamingOptions } from "../../config/naming-options.ts";
import { createHash } from "node:crypto";

/** The name of a tool. */
export type ToolName = {
  readonly name: string;
  /** Other names that calls may use: the other spelling */
  readonly aliases: readonly string[];
};

/** Returns the tool name for an agent, or for one of budgie's own tools with the prefix. */
export function toToolName(agentName: string, { toolNames, toolPrefix }: Omit<NamingOptions, "tools">): ToolName {
  const dotted = toolPrefix + normalise(agentName);
  const safe = toSafeName(dotted);
  return toolNames === "safe" ? { name: safe, aliases: [dotted] } : { name: dotted, aliases: [safe] };
}

function normalise(agentName: string): string {
  return agentName.toLowerCase().replace(/[^a-z0-9_-]/gu, "-");
}

/** The longest name in characters that Claude Desktop, Kiro and the OpenAI API accept. */
export const SAFE_LENGTH = 64;

const HASH_LENGTH = 8;

/** Returns the name in the form `[a-z][a-z0-9_]*`, which every client accepts. A long name is truncated and gets a hash of the whole. */
export function toSafeName(name: string): string {
  const safe = name
    .toLowerCase()
    .replace(/[^a-z0-9_]/gu, "_")
    // Kiro prepends the same letter.
    .replace(/^(?![a-z])/u, "a");
  if (safe.length <= SAFE_LENGTH) return safe;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_LENGTH);
  return `${safe.slice(0, SAFE_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
