import { BudgieError } from "@budgie/core";
import { narrowPolicy, listSandboxOnly, type Loosening, type Policy, type Tightening } from "@budgie/core/policy";
import { formatDuration } from "@budgie/core/text";
import { listHosts, listSectionHosts, withoutKirosNeed } from "@budgie/egress/allow-list";
import type { Policies } from "@budgie/mcp-server";
import type { AgentSection } from "./config-file.ts";
import { needsSandbox } from "./parse-egress-ceiling.ts";

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
export function buildPolicies({ ceiling, file = "", programs, sandbox, sections }: PolicyOptions): Policies {
  if (!sandbox && ceiling.workspace !== "rw") throw needsSandbox(`--workspace ${ceiling.workspace}`);
  const agents = [...sections].map(([agent, section]): [string, Policy] => {
    const key = `agents.${agent}`;
    const policy = narrowBySection(ceiling, { agent, file, key, programs, sandbox, section });
    return [agent, programs.has(agent) ? withoutKiro(policy) : policy];
  });
  return { ceiling, agents: new Map(agents) };
}

type NarrowingSection = Pick<PolicyOptions, "file" | "programs" | "sandbox"> & {
  readonly agent: string;
  readonly section: AgentSection;
  /** The section's key in the file */
  readonly key: string;
};

/** Returns the policy as an agent's section restricts it. Throws like {@link buildPolicies}. */
export function narrowBySection(policy: Policy, options: NarrowingSection): Policy {
  const { agent, file = "", key, programs, sandbox, section } = options;
  const toSource = (name: string): string => `"${key}.${name}" in "${file}"`;
  const wish = readTightening(section, { ceiling: policy, isProgram: programs.has(agent), toSource });
  const narrowed = narrowPolicy(policy, wish, (loosening) => refuse(loosening, agent, file));
  if (!sandbox) refuseSandboxOptions(narrowed, agent, file);
  return narrowed;
}

type SectionPlace = {
  readonly ceiling: Policy;
  readonly isProgram: boolean;
  /** Returns the source of a key's values */
  readonly toSource: (key: string) => string;
};

/** Returns the tightening of a section. Hosts without a mode mean `allowlist`. */
function readTightening(
  { allowHost, allowPreset, ...section }: AgentSection,
  { ceiling: { egress }, isProgram, toSource }: SectionPlace,
): Tightening {
  if (allowHost === undefined && allowPreset === undefined) return section;
  const sources = { allowHost: toSource("allowHost"), allowPreset: toSource("allowPreset") };
  const wishes = { allowHost: allowHost ?? [], allowPreset: allowPreset ?? [] };
  const allowedHosts = isProgram ? listHosts(wishes, sources) : listSectionHosts(wishes, sources, egress.hosts);
  return { ...section, egress: section.egress ?? (egress.mode === "none" ? "none" : "allowlist"), allowedHosts };
}

function withoutKiro({ egress, ...policy }: Policy): Policy {
  return { ...policy, egress: { ...egress, hosts: withoutKirosNeed(egress.hosts) } };
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
  tmp: "limits.tmp",
};

function refuse({ asked, most, option }: Loosening, agent: string, file: string): BudgieError {
  if (option === "host") return refuseHost(String(asked), agent, file);
  const [wish, bound] = [asked, most].map((value) => formatValue(option, value));
  const path = OPTION_PATHS[option];
  return new BudgieError(
    "CONFIG_INVALID",
    `The file "${file}" gives the agent "${agent}" ${path} ${wish}, and ${bound} is the most that budgie ` +
      `allows here. An agent's section can only tighten: lower it, or ${path.startsWith("limits.") ? `raise "${path}" for all` : "remove it"}.`,
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

function formatValue(option: Loosening["option"], value: string | number): string {
  if (["memory", "disk", "tmp"].includes(option)) return `"${Number(value) / 2 ** 20}m"`;
  return option === "timeout" ? `"${formatDuration(Number(value))}"` : JSON.stringify(value);
}

function refuseSandboxOptions(policy: Policy, agent: string, file: string): void {
  const [option] = listSandboxOnly(policy);
  if (option !== undefined) throw needsSandbox(`"${option}" of the agent "${agent}" in "${file}"`);
}
