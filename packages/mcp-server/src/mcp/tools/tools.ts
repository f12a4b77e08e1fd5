import type { Agent } from "@budgie/core";
import { toAgentTool } from "./agent-tool.ts";
import { byName } from "../names/find-tool.ts";
import { toHealthTool } from "./health-tool.ts";
import { toRouterTools } from "./router-tools.ts";
import type { Tool, ToolOptions } from "./tool.ts";

/** Returns the tools of these agents and budgie's own, sorted by name. */
export function toTools(agents: readonly Agent[], options: ToolOptions): readonly Tool[] {
  const { tools: mode } = options;
  const direct =
    mode === "router" ? [] : [...agents.map((agent) => toAgentTool(agent, options)), toHealthTool(options)];
  const routed = mode === "agents" ? [] : toRouterTools(agents, options);
  return [...direct, ...routed].toSorted((a, b) => byName(a.definition, b.definition));
}
