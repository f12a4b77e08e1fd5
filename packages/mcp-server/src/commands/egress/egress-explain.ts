import { loadAgents, type AllowedHost, type EgressMode, type EgressPolicy } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import { isUnverified } from "../../config/egress-list.ts";
import type { Host } from "../../process/host.ts";
import { findAgent } from "../../mcp/names/find-agent.ts";
import { refuseUnknownAgents } from "../../config/agent-policies.ts";

export type ExplainOptions = {
  /** The configuration with `--sandbox`, also if it was not given */
  readonly config: Config;
  readonly json: boolean;
};

/** Runs `budgie egress explain`: prints the hosts that an agent may reach, and the source of each. */
export function explainEgress(spelling: string, { config, json }: ExplainOptions, { stdout }: Host): number {
  const { agents } = loadAgents(config);
  refuseUnknownAgents(config, agents);
  const { name: agent } = findAgent(agents, spelling, config);
  const { egress } = config.policies.agents.get(agent) ?? config.policies.ceiling;
  const hosts = toEffective(egress).map((entry) => ({ ...entry, unverified: isUnverified(entry) }));
  const report = { agent, mode: egress.mode, hosts };
  stdout.write(json ? `${JSON.stringify(report)}\n` : reachText(report));
  return 0;
}

/** Returns the hosts that matter in a mode. In `open`, only pinned ones do. */
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
