import { loadAgents, type AllowedHost, type EgressMode, type EgressPolicy } from "@budgie/core";
import { withKagentAgent } from "../../agents/kagent-agents.ts";
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
export async function explainEgress(spelling: string, options: ExplainOptions, host: Host): Promise<number> {
  const { json } = options;
  // The backend may be asked here, since no agent runs.
  const config = await withKagentAgent(spelling, { ...options.config, sandbox: false }, host);
  const { agents } = loadAgents(config);
  refuseUnknownAgents(config, agents);
  const { name: agent, remote } = findAgent(agents, spelling, config);
  const { egress } = config.policies.agents.get(agent) ?? config.policies.ceiling;
  const hosts = toEffective(egress).map((entry) => ({ ...entry, unverified: isUnverified(entry) }));
  const report: Report =
    remote === undefined ? { agent, mode: egress.mode, hosts } : { agent, mode: ELSEWHERE, hosts: [] };
  host.stdout.write(json ? `${JSON.stringify(report)}\n` : reachText(report));
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
