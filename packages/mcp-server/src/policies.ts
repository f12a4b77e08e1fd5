import {
  BudgieError,
  toDurationText,
  toTighterPolicy,
  toWalls,
  type Agent,
  type Loosening,
  type Policy,
  type Tightening,
} from "@budgie/core";

/** What agents may do: the ceiling that the options set, and what their sections make of it. */
export type Policies = {
  readonly ceiling: Policy;
  /** By the names of those agents that have a section */
  readonly agents: ReadonlyMap<string, Policy>;
};

export type PolicyOptions = {
  readonly ceiling: Policy;
  /** By agent */
  readonly sections: ReadonlyMap<string, Tightening>;
  /** Where the sections come from */
  readonly file: string | undefined;
  readonly sandbox: boolean;
};

/** Works out every agent's policy, or throws `CONFIG_INVALID` for one that loosens, or that nothing could hold. */
export function toPolicies({ ceiling, file = "", sandbox, sections }: PolicyOptions): Policies {
  if (!sandbox && ceiling.workspace === "ro") throw needsSandbox("--workspace ro");
  const agents = [...sections].map(([agent, section]): [string, Policy] => {
    const policy = toTighterPolicy(ceiling, section, (loosening) => refuse(loosening, agent, file));
    if (!sandbox) refuseWalls(policy, agent, file);
    return [agent, policy];
  });
  return { ceiling, agents: new Map(agents) };
}

/** Throws `CONFIG_INVALID` for a section of an agent that there is not: a mistyped name would leave the real one unrestricted. */
export function refuseStrangers({ agents: policies }: Policies, agents: readonly Agent[], file = ""): void {
  const known = agents.map(({ name }) => name);
  const stranger = [...policies.keys()].find((name) => !known.includes(name));
  if (stranger === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" has a section for the agent "${stranger}", and there is none of that name. ` +
      `Known agents: ${known.map((name) => `"${name}"`).join(", ") || "none"}. Correct the name, or remove the section.`,
  );
}

const OPTION_PATHS: Readonly<Record<Loosening["option"], string>> = {
  workspace: "workspace",
  egress: "egress",
  host: "the host",
  timeout: "timeout",
  memory: "limits.memory",
  cpus: "limits.cpus",
  pids: "limits.pids",
};

function refuse({ asked, most, option }: Loosening, agent: string, file: string): BudgieError {
  const [wish, bound] = [asked, most].map((value) => toValueText(option, value));
  return new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" gives the agent "${agent}" ${OPTION_PATHS[option]} ${wish}, and ${bound} is the most that budgie ` +
      `allows here. An agent's section can only tighten: lower it, or remove it.`,
  );
}

function toValueText(option: Loosening["option"], value: string | number): string {
  if (option === "memory") return `"${Number(value) / 2 ** 20}m"`;
  return option === "timeout" ? `"${toDurationText(Number(value))}"` : JSON.stringify(value);
}

function refuseWalls(policy: Policy, agent: string, file: string): void {
  const [wall] = toWalls(policy);
  if (wall !== undefined) throw needsSandbox(`"${wall}" of the agent "${agent}" in "${file}"`);
}

function needsSandbox(option: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `Without --sandbox nothing can hold an agent to ${option}. Add --sandbox, or leave it out.`,
  );
}
