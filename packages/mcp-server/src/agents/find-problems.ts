import { findAgentFiles, listSharedProjections } from "@budgie/protocols/kiro";
import type { Agent } from "@budgie/core";
import type { ServerConfig } from "../config/server-config.ts";
import type { Host } from "../process/host.ts";
import { listNameWarnings } from "../mcp/tools/list-name-warnings.ts";
import type { Tool } from "../mcp/tools/tool.ts";

/** The agents on offer, and their tools. */
export type Offer = { readonly agents: readonly Agent[]; readonly tools: readonly Tool[] };

/** Returns problems that clients may have with tools, and agents with a sandbox. */
export function findProblems(
  { agents, tools }: Offer,
  config: Pick<ServerConfig, "promptsDir" | "sandbox">,
  host: Pick<Host, "home">,
): readonly string[] {
  return [...listNameWarnings(tools), ...(config.sandbox ? findHiddenFiles(agents, config, host) : [])];
}

/** Returns a sentence for each agent that names files that a sandbox does not show. */
export function findHiddenFiles(
  agents: readonly Agent[],
  { promptsDir }: Pick<ServerConfig, "promptsDir">,
  { home }: Pick<Host, "home">,
): readonly string[] {
  const shared = listSharedProjections(home, promptsDir);
  return agents.flatMap((agent) => findAgentFiles(agent, { home, shared }).warnings);
}
