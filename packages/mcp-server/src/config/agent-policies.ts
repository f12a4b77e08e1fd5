import { isDeepStrictEqual } from "node:util";
import {
  BudgieError,
  toDurationText,
  narrowPolicy,
  listSandboxOnly,
  type Agent,
  type Loosening,
  type Policy,
  type Tightening,
  type TurnRateLimits,
} from "@budgie/core";
import type { AgentSection } from "./config-file.ts";
import { toHosts, toSectionHosts, withoutKirosNeed } from "./egress-list.ts";
import { needsSandbox } from "./egress-ceiling.ts";
import { refuseUnknownRates } from "./turn-rate-limits.ts";

/** The policies of agents: the ceiling from the options, and the tightened ones from sections. */
export type Policies = {
  readonly ceiling: Policy;
  /** By agent name; only agents with a section */
  readonly agents: ReadonlyMap<string, Policy>;
};

export type PolicyOptions = {
  readonly ceiling: Policy;
  /** By agent */
  readonly sections: ReadonlyMap<string, AgentSection>;
  /** The agents of other programs than Kiro, all of which have a section */
  readonly programs: ReadonlySet<string>;
  /** The file that the sections come from */
  readonly file: string | undefined;
  readonly sandbox: boolean;
};

/** Returns every agent's policy. Throws `CONFIG_INVALID` for one that loosens the ceiling, or that cannot be enforced. */
export function toPolicies({ ceiling, file = "", programs, sandbox, sections }: PolicyOptions): Policies {
  if (!sandbox && ceiling.workspace === "ro") throw needsSandbox("--workspace ro");
  const agents = [...sections].map(([agent, section]): [string, Policy] => {
    const isProgram = programs.has(agent);
    const toSource = (key: string): string => `"agents.${agent}.${key}" in "${file}"`;
    const wish = toTightening(section, { ceiling, isProgram, toSource });
    const policy = narrowPolicy(ceiling, wish, (loosening) => refuse(loosening, agent, file));
    if (!sandbox) refuseSandboxOptions(policy, agent, file);
    return [agent, isProgram ? withoutKiro(policy) : policy];
  });
  return { ceiling, agents: new Map(agents) };
}

type SectionPlace = {
  readonly ceiling: Policy;
  readonly isProgram: boolean;
  /** Returns the source of a key's values */
  readonly toSource: (key: string) => string;
};

/** Returns the tightening of a section. Hosts without a mode mean `allowlist`. */
function toTightening(
  { allowHost, allowPreset, ...section }: AgentSection,
  { ceiling: { egress }, isProgram, toSource }: SectionPlace,
): Tightening {
  if (allowHost === undefined && allowPreset === undefined) return section;
  const sources = { allowHost: toSource("allowHost"), allowPreset: toSource("allowPreset") };
  const wishes = { allowHost: allowHost ?? [], allowPreset: allowPreset ?? [] };
  const allowedHosts = isProgram ? toHosts(wishes, sources) : toSectionHosts(wishes, sources, egress.hosts);
  return { ...section, egress: section.egress ?? (egress.mode === "none" ? "none" : "allowlist"), allowedHosts };
}

function withoutKiro({ egress, ...policy }: Policy): Policy {
  return { ...policy, egress: { ...egress, hosts: withoutKirosNeed(egress.hosts) } };
}

/** Options that name agents. */
type AgentOptions = {
  /** The file that the sections come from */
  readonly config?: string | undefined;
  /** True if a backend may add agents later */
  readonly hasBackend?: boolean;
  readonly policies: Policies;
  readonly maxTurnsPerMinute: TurnRateLimits;
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

/** Tells whether the section of an agent elsewhere asks for more than a timeout: nothing would enforce that there. */
export function isUnenforced({ name, remote }: Agent, { agents, ceiling }: Policies): boolean {
  const policy = remote && agents.get(name);
  return policy !== undefined && !isDeepStrictEqual({ ...policy, timeoutMs: ceiling.timeoutMs }, ceiling);
}

/** Returns the sentence on an agent for which {@link isUnenforced} is true. */
export function toUnenforcedText({ file, name }: Agent): string {
  return (
    `The agent "${name}" ("${file}") runs elsewhere, where nothing enforces its section in the configuration file. ` +
    `Keep only "timeout" and "maxConcurrent" there.`
  );
}

const OPTION_PATHS: Readonly<Record<Loosening["option"], string>> = {
  workspace: "workspace",
  egress: "egress",
  host: "host",
  timeout: "timeout",
  memory: "limits.memory",
  cpus: "limits.cpus",
  pids: "limits.pids",
  disk: "limits.disk",
};

function refuse({ asked, most, option }: Loosening, agent: string, file: string): BudgieError {
  if (option === "host") return refuseHost(String(asked), agent, file);
  const [wish, bound] = [asked, most].map((value) => toValueText(option, value));
  return new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" gives the agent "${agent}" ${OPTION_PATHS[option]} ${wish}, and ${bound} is the most that budgie ` +
      `allows here. An agent's section can only tighten: lower it, or remove it.`,
  );
}

/** Returns the error for one host, without the ceiling's long list. */
function refuseHost(host: string, agent: string, file: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" lets the agent "${agent}" reach the host "${host}", which budgie does not allow here. An agent's ` +
      `section can only tighten: allow the host for all with --allow-host, or remove it.`,
  );
}

function toValueText(option: Loosening["option"], value: string | number): string {
  if (option === "memory" || option === "disk") return `"${Number(value) / 2 ** 20}m"`;
  return option === "timeout" ? `"${toDurationText(Number(value))}"` : JSON.stringify(value);
}

function refuseSandboxOptions(policy: Policy, agent: string, file: string): void {
  const [option] = listSandboxOnly(policy);
  if (option !== undefined) throw needsSandbox(`"${option}" of the agent "${agent}" in "${file}"`);
}
