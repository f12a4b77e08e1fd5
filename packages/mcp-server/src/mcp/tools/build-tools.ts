import type { Agent } from "@budgie/core";
import { buildAgentTool } from "./build-agent-tool.ts";
import { hasCopies } from "../../config/has-copies.ts";
import { byName } from "../names/find-tool.ts";
import { buildHealthTool } from "./build-health-tool.ts";
import { buildParallelTool } from "./build-parallel-tool.ts";
import { buildRouterTools } from "./build-router-tools.ts";
import type { Tool, ToolOptions } from "./tool.ts";

/** Returns the tools of these agents and budgie's own, sorted by name. */
export function buildTools(agents: readonly Agent[], options: ToolOptions): readonly Tool[] {
  const { maxParallel = 0, tools: mode } = options;
  const direct =
    mode === "router" ? [] : [...agents.map((agent) => buildAgentTool(agent, options)), buildHealthTool(options)];
  const routed = mode === "agents" ? [] : buildRouterTools(agents, options);
  const parallel = maxParallel > 0 && hasCopies(options) ? [buildParallelTool(maxParallel, agents, options)] : [];
  return [...direct, ...routed, ...parallel].toSorted((a, b) => byName(a.definition, b.definition));
}
