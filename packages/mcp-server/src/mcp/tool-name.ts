import { BudgieError, type Agent } from "@budgie/core";

/** The agent part of budgie's own tool. */
export const HEALTH_CHECK = "health-check";

// What the MCP specification allows.
const LONGEST = 128;

/** Names the agents' tools, or throws `CONFIG_INVALID` naming the agents whose names are the same once normalised. */
export function toToolNames(agents: readonly Agent[], prefix: string): ReadonlyMap<Agent, string> {
  const taken = new Map<string, Agent>();
  const names = agents.map((agent): [Agent, string] => {
    const name = prefix + normalise(agent.name);
    refuseTaken(agent, name, { other: taken.get(name), own: prefix + HEALTH_CHECK });
    taken.set(name, agent);
    return [agent, name];
  });
  return new Map(names);
}

function normalise(agentName: string): string {
  return agentName.toLowerCase().replace(/[^a-z0-9_-]/gu, "-");
}

type Taken = { readonly other: Agent | undefined; readonly own: string };

function refuseTaken(agent: Agent, name: string, { other, own }: Taken): void {
  if (other !== undefined) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The agents "${other.name}" (${other.file}) and "${agent.name}" (${agent.file}) would both be the tool "${name}". ` +
        `Rename one of them.`,
    );
  }
  if (name === own) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The agent "${agent.name}" (${agent.file}) would take the name of budgie's own tool "${own}". Rename it.`,
    );
  }
  if (name.length > LONGEST) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The agent "${agent.name}" (${agent.file}) would be a tool with a name of ${name.length} characters, and MCP allows ` +
        `${LONGEST}. Rename it, or shorten --tool-prefix.`,
    );
  }
}
