import { BudgieError, type Agent } from "@budgie/core";
import { checkToolNames } from "../mcp/names/check-tool-names.ts";
import type { NamingOptions } from "../config/tool-options.ts";

/** The agents on offer. */
export type AcceptedAgents = {
  readonly agents: readonly Agent[];
  /** The reasons why others were left out or stay as they were, one sentence each */
  readonly refusals: readonly string[];
};

/**
 * Accepts all agents if none of their tool names is too long or collides with another. Otherwise agents that are as they were
 * `before` take precedence, then those first in the list. A changed agent stays as it was; a new one is left out.
 */
export function acceptAgents(
  wanted: readonly Agent[],
  options: NamingOptions,
  before: readonly Agent[] = [],
): AcceptedAgents {
  if (findRefusal(wanted, options) === undefined) return { agents: wanted, refusals: [] };
  const agents = new Map(before.filter((agent) => wanted.includes(agent)).map((agent) => [agent.file, agent]));
  const refusals: string[] = [];
  for (const agent of wanted) {
    if (agents.has(agent.file)) continue;
    const refusal = findRefusal([...agents.values(), agent], options);
    const choices = refusal === undefined ? [agent] : before.filter(({ file }) => file === agent.file);
    const choice = choices.find((other) => findRefusal([...agents.values(), other], options) === undefined);
    if (choice !== undefined) agents.set(choice.file, choice);
    if (refusal === undefined) continue;
    refusals.push(
      `${refusal} Until then, "${agent.file}" ${choice === undefined ? "is left out" : "stays as it was"}.`,
    );
  }
  return { agents: wanted.flatMap(({ file }) => agents.get(file) ?? []), refusals };
}

function findRefusal(agents: readonly Agent[], options: NamingOptions): string | undefined {
  try {
    checkToolNames(agents, options);
    return undefined;
  } catch (error) {
    if (error instanceof BudgieError) return error.message;
    throw error;
  }
}
