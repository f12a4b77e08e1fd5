import { BudgieError, loadAgents, type AllowedHost, type EgressMode, type EgressPolicy } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import { isUnverified } from "../../config/egress-list.ts";
import type { Host } from "../../process/host.ts";
import { refuseUnknownAgents } from "../../config/agent-policies.ts";

export type ExplainOptions = {
  /** With a sandbox, whatever was asked for */
  readonly config: Config;
  readonly json: boolean;
};

/** `budgie egress explain`: prints what an agent may reach of the network, and where each host of it was named. */
export function explainEgress(agent: string, { config, json }: ExplainOptions, { stdout }: Host): number {
  const { agents } = loadAgents(config);
  refuseUnknownAgents(config.policies, agents, config.config);
  if (!agents.some(({ name }) => name === agent)) throw unknownAgent(agent, config);
  const { egress } = config.policies.agents.get(agent) ?? config.policies.ceiling;
  const hosts = toEffective(egress).map((entry) => ({ ...entry, unverified: isUnverified(entry) }));
  const report = { agent, mode: egress.mode, hosts };
  stdout.write(json ? `${JSON.stringify(report)}\n` : reachText(report));
  return 0;
}

/** Of an open network only what is pinned counts. */
function toEffective({ hosts, mode }: EgressPolicy): readonly AllowedHost[] {
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

function unknownAgent(name: string, { agentsDir }: Config): BudgieError {
  return new BudgieError(
    "AGENT_NOT_FOUND",
    `There is no agent "${name}" in "${agentsDir}". "budgie --list-tools" shows those that there are.`,
  );
}

const MEANINGS: Readonly<Record<EgressMode, string>> = {
  none: "no network at all, its own model included",
  allowlist: "these hosts, by the proxy, and nothing else",
  open: "every public host, by the proxy; private addresses only where they are pinned",
  bridge: "unsafe: all that the engine's network reaches, and nobody sees what",
};

type Report = {
  readonly agent: string;
  readonly mode: EgressMode;
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
