import { BudgieError, loadAgents, type Agent } from "@budgie/core";
import type { AgentFolders } from "@budgie/core/agents";
import type { NamingOptions } from "@budgie/mcp-server";
import { toToolName } from "@budgie/mcp-server/commands";
import { didYouMean } from "../terminal/did-you-mean.ts";

type Naming = Omit<NamingOptions, "tools">;

/**
 * Finds an agent by its name or its tool's name, dotted or safe, with or without the prefix, in upper or lower case. Throws
 * `AGENT_NOT_FOUND` for none, and for a spelling that several agents share.
 */
export function findAgent(agents: readonly Agent[], spelling: string, options: Naming & { agentsDir: string }): Agent {
  const [found, twin] = listAgents(agents, spelling, options);
  if (found === undefined) throw unknownError(agents, spelling, options.agentsDir);
  if (twin === undefined) return found;
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `Both agents "${found.name}" (${found.file}) and "${twin.name}" (${twin.file}) could be "${spelling}". Name one in full.`,
  );
}

/** Returns the name that a spelling means. A spelling of no agent, or of several, is returned as it is: removed agents have turns too. */
export function resolveAgentName(spelling: string | undefined, config: Naming & AgentFolders): string | undefined {
  if (spelling === undefined) return undefined;
  const found = listAgents(loadAgents(config).agents, spelling, config);
  return found.length === 1 ? found[0]?.name : spelling;
}

/** Lists the agents that a spelling may mean. If several have exactly this name, lists only the first. */
function listAgents(agents: readonly Agent[], spelling: string, options: Naming): readonly Agent[] {
  const exact = agents.filter(({ name }) => name === spelling);
  if (exact.length > 0) return exact.slice(0, 1);
  const wanted = spelling.toLowerCase();
  return agents.filter(({ name }) => listSpellings(name, options).includes(wanted));
}

function listSpellings(name: string, { toolNames, toolPrefix }: Naming): readonly string[] {
  const tools = [toolPrefix, ""].map((prefix) => toToolName(name, { toolNames, toolPrefix: prefix }));
  return [name, ...tools.flatMap((tool) => [tool.name, ...tool.aliases])].map((spelling) => spelling.toLowerCase());
}

function unknownError(agents: readonly Agent[], spelling: string, agentsDir: string): BudgieError {
  const near = didYouMean(
    spelling,
    agents.map(({ name }) => name),
  );
  return new BudgieError(
    "AGENT_NOT_FOUND",
    `There is no agent "${spelling}" in "${agentsDir}".${near} "budgie list-tools" lists the agents.`,
  );
}
