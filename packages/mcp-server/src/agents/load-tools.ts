import { loadAgents } from "@budgie/core";
import type { LoadedAgents } from "@budgie/core/agents";
import type { ServerConfig } from "../config/server-config.ts";
import type { Host } from "../process/host.ts";
import { acceptAgents, type AcceptedAgents } from "./accept-agents.ts";
import { findProblems } from "./find-problems.ts";
import type { Tool } from "../mcp/tools/tool.ts";
import { buildTools } from "../mcp/tools/build-tools.ts";
import { findAwaitedAgents, refuseUnknownAgents } from "../config/refuse-unknown-agents.ts";

export type LoadedTools = {
  readonly loaded: LoadedAgents;
  readonly accepted: AcceptedAgents;
  readonly tools: readonly Tool[];
};

/** Loads the agents, creates the tools of those whose names do not collide, and reports all problems. */
export function loadTools(config: ServerConfig, { home, report }: Pick<Host, "home" | "report">): LoadedTools {
  const loaded = loadAgents(config);
  const { agents, problems } = loaded;
  for (const problem of problems) report(problem);
  // A missing directory is among the problems above.
  if (agents.length === 0 && (loaded.files.size > 0 || problems.length === 0)) {
    report(`No sub-agents in "${config.agentsDir}": a description there must begin with "sub-agent:".`);
  }
  refuseUnknownAgents(config, agents);
  for (const awaited of findAwaitedAgents(config, agents)) report(awaited);
  const accepted = acceptAgents(agents, config);
  for (const refusal of accepted.refusals) report(refusal);
  const tools = buildTools(accepted.agents, config);
  for (const problem of findProblems({ agents: accepted.agents, tools }, config, { home })) report(problem);
  return { loaded, accepted, tools };
}
