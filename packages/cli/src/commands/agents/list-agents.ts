import { loadAgents, type Agent, type EgressPolicy } from "@budgie/core";
import { formatDuration, escapeForTerminal } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import { acceptAgents, withKagentAgents } from "@budgie/mcp-server/commands";
import { findMissingInputs } from "../../agents/find-missing-inputs.ts";
import type { Config } from "../../config/config.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { formatTable } from "../../terminal/format-table.ts";

/** Runs `budgie agents ls`: prints all agents, and those that cannot be used with the reason. */
export async function listAgents(given: Config, { json }: { readonly json: boolean }, host: Host): Promise<number> {
  const config = await withKagentAgents(given, host);
  const listed = collectAgents(config, host);
  host.stdout.write(json ? stringifySafely(listed) : agentsText(listed, host));
  return 0;
}

type Listed = {
  /** Left out for a broken file, which has none */
  readonly name?: string;
  readonly protocol: "a2a" | "acp" | "kiro";
  /** Each restriction beyond those of all agents, in short */
  readonly restrictions: readonly string[];
  /** The agent's file, or the place in the configuration file */
  readonly from: string;
  /** The reason why it cannot be used */
  readonly broken?: string;
};

/** Collects the agents, then the broken files. */
function collectAgents(config: Config, host: Host): readonly Listed[] {
  const { agents, files } = loadAgents(config);
  const { agents: offered, refusals } = acceptAgents(agents, config);
  const listed = agents.map((agent): Listed => {
    const refusal = offered.includes(agent) ? undefined : refusals.find((text) => text.includes(`"${agent.file}"`));
    const broken = refusal ?? agent.broken ?? findMissing(agent, config, host);
    const protocol = protocolOf(agent, config);
    const restrictions = listRestrictions(agent.name, config);
    return { name: agent.name, protocol, restrictions, from: agent.file, ...(broken === undefined ? {} : { broken }) };
  });
  const unusable = [...files].flatMap(([from, { agent, problems }]): readonly Listed[] => {
    const [broken] = agent === undefined ? problems : [];
    return broken === undefined ? [] : [{ protocol: protocolOfKiro(config), restrictions: [], from, broken }];
  });
  return [...listed, ...unusable];
}

function protocolOf({ program, remote }: Agent, config: Config): Listed["protocol"] {
  if (remote !== undefined) return "a2a";
  return program === undefined ? protocolOfKiro(config) : "acp";
}

function protocolOfKiro({ protocol }: Config): Listed["protocol"] {
  return protocol === "acp" ? "acp" : "kiro";
}

function findMissing(agent: Agent, config: Config, host: Host): string | undefined {
  const { files, variables } = findMissingInputs(agent, config, host);
  const missing = [
    ...(config.sandbox && agent.remote?.allowRemote === false ? ['with --sandbox it needs "allowRemote": true'] : []),
    ...(variables.length === 0 ? [] : [`not set here: ${variables.join(", ")}`]),
    ...(files.length === 0 ? [] : [`not there: ${files.join(", ")}`]),
  ];
  return missing.length === 0 ? undefined : missing.join("; ");
}

/** Returns the restrictions of an agent's policy beyond the ceiling. */
function listRestrictions(name: string, { policies, turnLimits }: Config): readonly string[] {
  const { ceiling } = policies;
  const { egress, limits, timeoutMs, workspace } = policies.agents.get(name) ?? ceiling;
  const { cpus, diskBytes, memoryBytes, pids } = limits;
  const isFree = egress.mode === ceiling.egress.mode && egress.hosts.length === ceiling.egress.hosts.length;
  const found: readonly (readonly [what: string, value: string | number | undefined])[] = [
    ["workspace", workspace === ceiling.workspace ? undefined : workspace],
    ["egress", isFree ? undefined : formatReach(egress)],
    ["memory", memoryBytes && formatAmount(memoryBytes)],
    ["cpus", cpus],
    ["pids", pids],
    ["disk", diskBytes && formatAmount(diskBytes)],
    ["timeout", timeoutMs === ceiling.timeoutMs ? undefined : formatDuration(timeoutMs)],
    ["concurrent", turnLimits.agents?.get(name)],
  ];
  return found.flatMap(([what, value]) => (value === undefined ? [] : [`${what} ${value}`]));
}

function formatReach({ hosts, mode }: EgressPolicy): string {
  return mode === "allowlist" ? `to ${hosts.length} hosts` : mode;
}

function formatAmount(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)}m`;
}

function agentsText(listed: readonly Listed[], host: Host): string {
  if (listed.length === 0) return 'There are no agents. "budgie agents add" adds one.\n';
  const rows = listed.map(({ broken, from, name = "-", protocol, restrictions }) => [
    name,
    protocol,
    restrictions.join(", ") || "-",
    from,
    broken === undefined ? "" : `broken: ${broken}`,
  ]);
  const lines = formatTable(
    [["AGENT", "PROTOCOL", "RESTRICTIONS", "FROM", ""], ...rows.map((row) => row.map(escapeForTerminal))],
    host,
  );
  return `${lines.join("\n")}\n`;
}
