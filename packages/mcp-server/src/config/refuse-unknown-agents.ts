import { isDeepStrictEqual } from "node:util";
import { BudgieError, type Agent } from "@budgie/core";
import type { Policy } from "@budgie/core/policy";
import type { RateLimits } from "@budgie/core/turn";

/** The policies of agents: the ceiling from the options, and the tightened ones from sections. */
export type Policies = {
  readonly ceiling: Policy;
  /** By agent name; only agents with a section */
  readonly agents: ReadonlyMap<string, Policy>;
};

/** Options that name agents. */
type AgentOptions = {
  /** The file that the sections come from */
  readonly config?: string | undefined;
  /** True if a backend may add agents later */
  readonly hasBackend?: boolean;
  readonly policies: Policies;
  readonly maxTurnsPerMinute: RateLimits;
};

/**
 * Throws `CONFIG_INVALID` for a section or a rate of an unknown agent: a mistyped name would leave the real one unrestricted. Also
 * throws it for the section of an agent elsewhere that nothing would enforce.
 */
export function refuseUnknownAgents(options: AgentOptions, agents: readonly Agent[]): void {
  const { config: file = "", maxTurnsPerMinute, policies } = options;
  const known = agents.map(({ name }) => name);
  const expected = [...known, ...listAwaited(options, agents)];
  refuseUnknownRates(maxTurnsPerMinute, expected);
  const here = new Set(agents.filter(({ remote }) => remote === undefined).map(({ name }) => name));
  const unenforced = agents.find((agent) => !here.has(agent.name) && isUnenforced(agent, policies));
  if (unenforced !== undefined) throw new BudgieError("CONFIG_INVALID", toUnenforcedText(unenforced));
  const unknown = [...policies.agents.keys()].find((name) => !expected.includes(name));
  if (unknown === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" has a section for the agent "${unknown}", which does not exist. ` +
      `Known agents: ${known.map((name) => `"${name}"`).join(", ") || "none"}. Correct the name, or remove the section.`,
  );
}

/** Returns a sentence for each agent that has settings and is missing, if a backend may add it later. */
export function findAwaitedAgents(options: AgentOptions, agents: readonly Agent[]): readonly string[] {
  return listAwaited(options, agents).map(
    (name) =>
      `The agent "${name}", which has settings, is not there now: kagent may have it later, if the name is right.`,
  );
}

function listAwaited({ hasBackend, maxTurnsPerMinute, policies }: AgentOptions, agents: readonly Agent[]) {
  const known = new Set(agents.map(({ name }) => name));
  const named = new Set([...policies.agents.keys(), ...maxTurnsPerMinute.agents.keys()]);
  // All names of a backend's agents have a dot.
  return hasBackend === true ? [...named].filter((name) => name.includes(".") && !known.has(name)) : [];
}

/** Returns true if a remote agent's section sets more than `timeout`. */
export function isUnenforced({ name, remote }: Agent, { agents, ceiling }: Policies): boolean {
  const policy = remote && agents.get(name);
  return policy !== undefined && !isDeepStrictEqual({ ...policy, timeoutMs: ceiling.timeoutMs }, ceiling);
}

/** Returns the sentence on an agent for which {@link isUnenforced} is true. */
export function toUnenforcedText({ file, name }: Agent): string {
  return (
    `The agent "${name}" ("${file}") runs elsewhere, where nothing enforces its section in the configuration file. ` +
    `Keep only "timeout", "maxConcurrent" and "budget" there.`
  );
}

/** Throws `CONFIG_INVALID` for a limit of an unknown agent, which would have no effect. */
function refuseUnknownRates(limits: RateLimits, known: readonly string[]): void {
  const unknown = [...limits.agents.keys()].find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no agent "${unknown}" for --max-turns-per-minute. The agents are: ${known.join(", ") || "none"}.`,
  );
}
