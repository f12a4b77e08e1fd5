import { loadAgents, type Agent, type AllowedHost, type EgressMode, type EgressPolicy } from "@budgie/core";
import { isUnverified } from "@budgie/egress/allow-list";
import { refuseUnknownAgents, type Host } from "@budgie/mcp-server";
import { findPolicy, withKagentAgent } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { findAgent } from "../../agents/find-agent.ts";

export type ExplainOptions = {
  /** The configuration with `--sandbox`, also if it was not given */
  readonly config: Config;
  readonly json: boolean;
};

/** Runs `budgie egress explain`: prints the hosts that an agent, or each, may reach, and the source of each. */
export async function explainEgress(
  spelling: string | undefined,
  options: ExplainOptions,
  host: Host,
): Promise<number> {
  const { json } = options;
  const given: Config = { ...options.config, sandbox: false };
  // The backend may be asked here, since no agent runs.
  const config = spelling === undefined ? given : await withKagentAgent(spelling, given, host);
  const { agents } = loadAgents(config);
  refuseUnknownAgents(config, agents);
  if (spelling === undefined) {
    const reports = agents.map((agent) => reportOn(agent, config));
    host.stdout.write(json ? `${JSON.stringify(reports)}\n` : reports.map(reachText).join("\n") || NO_AGENTS);
    return 0;
  }
  const report = reportOn(findAgent(agents, spelling, config), config);
  host.stdout.write(json ? `${JSON.stringify(report)}\n` : reachText(report));
  return 0;
}

const NO_AGENTS = 'There are no agents. "budgie agents add" adds one.\n';

function reportOn({ name: agent, remote }: Agent, config: Config): Report {
  const { egress } = findPolicy(config, agent);
  const hosts = listEffective(egress).map((entry) => ({ ...entry, unverified: isUnverified(entry) }));
  return remote === undefined ? { agent, mode: egress.mode, hosts } : { agent, mode: ELSEWHERE, hosts: [] };
}

/** Returns the hosts that matter in a mode. In `open`, only pinned ones do. */
function listEffective({ hosts, mode }: EgressPolicy): readonly AllowedHost[] {
  switch (mode) {
    case "allowlist":
      return hosts;
    case "open":
      return hosts.filter(({ address }) => address !== undefined);
    case "none":
    case "bridge":
      return [];
  }
}

const ELSEWHERE = "elsewhere";

const MEANINGS: Readonly<Record<EgressMode | typeof ELSEWHERE, string>> = {
  none: "no network at all, its own model included",
  allowlist: "these hosts, by the proxy, and nothing else",
  open: "every public host, by the proxy; private addresses only where they are pinned",
  bridge: "unsafe: all that the engine's network reaches, and nobody sees what",
  elsewhere: "where no rule of this machine holds it",
};

type Report = {
  readonly agent: string;
  readonly mode: keyof typeof MEANINGS;
  readonly hosts: readonly (AllowedHost & { readonly unverified: boolean })[];
};

function reachText({ agent, hosts, mode }: Report): string {
  const targets = hosts.map(({ address, host, port }) => {
    return `${host}:${port}${address === undefined ? "" : ` at ${address}`}`;
  });
  const width = Math.max(...targets.map(({ length }) => length), 0);
  const lines = hosts.map(({ from, unverified }, index) => {
    return `  ${(targets[index] ?? "").padEnd(width)}  ${from}${unverified ? " (unverified)" : ""}`;
  });
  return `${[`${agent}: ${mode}, ${MEANINGS[mode]}`, ...lines].join("\n")}\n`;
}
