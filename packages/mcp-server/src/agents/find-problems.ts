import { findAgentFiles, toSharedProjections, type Agent } from "@budgie/core";
import type { Config } from "../config/config.ts";
import type { Host } from "../process/host.ts";
import { toNameWarnings } from "../mcp/tools/name-warnings.ts";
import type { Tool } from "../mcp/tools/tool.ts";

/** The agents on offer, and their tools. */
export type Offer = { readonly agents: readonly Agent[]; readonly tools: readonly Tool[] };

/** Returns problems that clients may have with tools, and agents with a sandbox. */
export function findProblems(
  { agents, tools }: Offer,
  config: Pick<Config, "promptsDir" | "sandbox">,
  host: Pick<Host, "home">,
): readonly string[] {
  return [...toNameWarnings(tools), ...(config.sandbox ? findHiddenFiles(agents, config, host) : [])];
}

/** Returns a sentence for each agent that names files that a sandbox does not show. */
export function findHiddenFiles(
  agents: readonly Agent[],
  { promptsDir }: Pick<Config, "promptsDir">,
  { home }: Pick<Host, "home">,
): readonly string[] {
  const shared = toSharedProjections(home, promptsDir);
  return agents.flatMap((agent) => findAgentFiles(agent, { home, shared }).warnings);
}
