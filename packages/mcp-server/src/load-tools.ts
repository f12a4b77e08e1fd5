import { loadAgents, type Agent } from "@budgie/core";
import type { Config } from "./config.ts";
import type { Host } from "./host.ts";
import { refuseStrangers } from "./policies.ts";
import { toTools, type Tool } from "./mcp/tools.ts";

/** Loads the agents and makes their tools, and tells the user what is wrong with either. */
export function loadTools(
  config: Config,
  { report }: Pick<Host, "report">,
): { readonly agents: readonly Agent[]; readonly tools: readonly Tool[] } {
  const { agents, problems } = loadAgents(config);
  for (const problem of problems) report(problem);
  if (agents.length === 0) {
    report(`No sub-agents in "${config.agentsDir}": a description there must begin with "sub-agent:".`);
  }
  refuseStrangers(config.policies, agents, config.config);
  const tools = toTools(agents, config);
  for (const { definition } of tools.filter(({ definition: { name } }) => name.length > NAME_LIMIT)) {
    report(
      `The tool name "${definition.name}" is longer than ${NAME_LIMIT} characters, and some MCP clients refuse that. ` +
        `Shorten the agent's name, or --tool-prefix.`,
    );
  }
  return { agents, tools };
}

// Of Claude Desktop and the OpenAI API.
const NAME_LIMIT = 64;
