import type { NamingOptions } from "../../config/tool-options.ts";
import { toSafeName } from "./safe-name.ts";

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
