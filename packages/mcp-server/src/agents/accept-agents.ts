import { BudgieError, type Agent } from "@budgie/core";
import { checkToolNames } from "../mcp/names/check-tool-names.ts";
import { isUnenforced, toUnenforcedText, type Policies } from "../config/refuse-unknown-agents.ts";
import type { NamingOptions } from "../config/naming-options.ts";

/** The agents on offer. */
export type AcceptedAgents = {
  readonly agents: readonly Agent[];
  /** The reasons why others were left out or stay as they were, one sentence each */
  readonly refusals: readonly string[];
};

type AcceptOptions = NamingOptions & { readonly policies: Policies };

/**
 * Accepts all agents if none of their tool names is too long or collides with another. Otherwise agents on this machine take
 * precedence over those elsewhere, then unchanged agents over changed ones, then earlier ones over later ones. A refused change
 * leaves its agent as it was; a refused new agent is left out. An agent elsewhere whose section nothing would enforce is always
 * left out.
 */
export function acceptAgents(
  wanted: readonly Agent[],
  options: AcceptOptions,
  before: readonly Agent[] = [],
): AcceptedAgents {
  const unenforced = wanted.filter((agent) => isUnenforced(agent, options.policies));
  if (unenforced.length === 0) return acceptNames(wanted, options, before);
  const held = wanted.filter((agent) => !unenforced.includes(agent));
  const { agents, refusals } = acceptNames(held, options, before);
  return {
    agents,
    refusals: [...unenforced.map((agent) => `${toUnenforcedText(agent)} Until then, it is left out.`), ...refusals],
  };
}

function acceptNames(wanted: readonly Agent[], options: NamingOptions, before: readonly Agent[]): AcceptedAgents {
  if (findRefusal(wanted, options) === undefined) return { agents: wanted, refusals: [] };
  const kept = before.filter((agent) => wanted.includes(agent));
  const agents = new Map(kept.filter(isHere).map((agent) => [agent.file, agent]));
  const refusals: string[] = [];
  // A server elsewhere must not take the tool of an agent here.
  const elsewhere = [...kept, ...wanted].filter((agent) => !isHere(agent));
  for (const agent of new Set([...wanted.filter(isHere), ...elsewhere])) {
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

function isHere({ remote }: Agent): boolean {
  return remote === undefined;
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
