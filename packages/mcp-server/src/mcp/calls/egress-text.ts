import {
  KNOWN_TELEMETRY,
  toTargetText,
  type EgressCount,
  type EgressReport,
  type McpServerReport,
  type TurnReport,
} from "@budgie/core";

const MOST_IN_TEXT = 10;
const LONGEST_NAME = 100;

/**
 * Returns the hosts that were denied to a turn, such as `example.com:443 (3 times)`; empty if there were none, or only telemetry, which no
 * work misses.
 */
export function toRefusedText(egress: EgressReport | undefined): string {
  const counts = new Map<string, number>();
  for (const { count, host, port, why } of egress?.denied ?? []) {
    if (why === KNOWN_TELEMETRY) continue;
    const target = toTargetText({ host: hostText(host), port });
    counts.set(target, (counts.get(target) ?? 0) + count);
  }
  const names = [...counts].map(([target, count]) => `${target} (${count === 1 ? "once" : `${count} times`})`);
  const rest = names.splice(MOST_IN_TEXT).length;
  return [...names, ...(rest === 0 ? [] : [`${rest} more`])].join(", ");
}

/** Returns a host for a message. The agent chooses host names, so unusual characters are replaced. */
function hostText(host: string): string {
  if (host === OTHERS.host) return "others";
  const shown = host.replace(/[^\w.:*[\]-]/g, "?");
  return shown.length > LONGEST_NAME ? `${shown.slice(0, LONGEST_NAME)}...` : shown;
}

/** Returns a turn's networks for the caller: what the agent requested, and what its MCP servers may reach. */
export function toEgressFacts({ egress, mcpServers }: Partial<Pick<TurnReport, "egress" | "mcpServers">>) {
  const servers = mcpServers?.map(({ egress: { hosts, mode }, name }) => ({ name, mode, hosts }));
  const own = egress && toNamedEgress(egress);
  return {
    egress: servers === undefined ? own : { allowed: [], denied: [], ...own, servers },
    ...(mcpServers === undefined ? {} : { mcpServers: mcpServers.map(withoutEgress) }),
  };
}

function withoutEgress(server: McpServerReport) {
  const { egress: _, ...facts } = server;
  return facts;
}

const MOST_IN_REPORT = 50;

/** Truncates a report for the caller: the agent chooses the names and their number, so only the first are listed and the rest counted. */
function toNamedEgress({ allowed, denied }: EgressReport): EgressReport {
  return {
    allowed: cut(allowed, (count) => ({ ...OTHERS, count })),
    denied: cut(denied, (count) => ({ ...OTHERS, count, why: "various" })),
  };
}

// As in the proxy's log for entries beyond its limit.
const OTHERS = { host: "(others)", port: 0 } as const;

function cut<Count extends EgressCount>(
  counts: readonly Count[],
  toOthers: (count: number) => Count,
): readonly Count[] {
  const rest = counts.slice(MOST_IN_REPORT).reduce((sum, { count }) => sum + count, 0);
  return rest === 0 ? counts : [...counts.slice(0, MOST_IN_REPORT), toOthers(rest)];
}
