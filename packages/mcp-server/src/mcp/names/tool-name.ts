import type { NamingOptions } from "../../config/tool-options.ts";
import { createHash } from "node:crypto";

/** What a tool is called. */
export type ToolName = {
  readonly name: string;
  /** Names that are good for calls too: the other spelling */
  readonly aliases: readonly string[];
};

/** Names the tool of an agent, or one of budgie's own that stands beside them. */
export function toToolName(agentName: string, { toolNames, toolPrefix }: Omit<NamingOptions, "tools">): ToolName {
  const dotted = toolPrefix + normalise(agentName);
  const safe = toSafeName(dotted);
  return toolNames === "safe" ? { name: safe, aliases: [dotted] } : { name: dotted, aliases: [safe] };
}

function normalise(agentName: string): string {
  return agentName.toLowerCase().replace(/[^a-z0-9_-]/gu, "-");
}

/** What most clients take: Claude Desktop, Kiro and the OpenAI API have this limit. */
export const SAFE_LENGTH = 64;

const HASH_LENGTH = 8;

/** The name as every client takes it, `[a-z][a-z0-9_]*`; a long one is cut, and told from its like by a hash of the whole. */
export function toSafeName(name: string): string {
  const safe = name
    .toLowerCase()
    .replace(/[^a-z0-9_]/gu, "_")
    // What Kiro puts there itself.
    .replace(/^(?![a-z])/u, "a");
  if (safe.length <= SAFE_LENGTH) return safe;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_LENGTH);
  return `${safe.slice(0, SAFE_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
