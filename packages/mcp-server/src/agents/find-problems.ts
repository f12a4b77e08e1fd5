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
  { promptsDir, sandbox }: Pick<Config, "promptsDir" | "sandbox">,
  { home }: Pick<Host, "home">,
): readonly string[] {
  const shared = toSharedProjections(home, promptsDir);
  return [
    ...toNameWarnings(tools),
    ...(sandbox ? agents.flatMap((agent) => findAgentFiles(agent, { home, shared }).warnings) : []),
  ];
}
