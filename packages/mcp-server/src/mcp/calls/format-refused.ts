import {
  CERTIFICATE_REFUSED,
  KNOWN_TELEMETRY,
  formatTarget,
  type EgressCount,
  type EgressDenial,
  type EgressReport,
  type McpServerReport,
  type TurnReport,
} from "@budgie/core";
import { formatTimes, joinFirst } from "@budgie/core/text";
import { findPreset } from "@budgie/egress/allow-list";

const MOST_IN_TEXT = 10;
const LONGEST_NAME = 100;

const CERTIFICATE_HINT =
  'If your network inspects TLS, name its certificates with --ca-file; "budgie doctor --sandbox" says whose they are.';

/** Returns the options that allow what was refused, the presets first; empty if none does. */
export function formatRemedy(egress: EgressReport | undefined): string {
  const refused = toMissed(egress);
  const unlisted = refused.filter(({ why }) => why.includes("allow-list"));
  const presets = [...new Set(unlisted.flatMap((target) => findPreset(target) ?? []))].slice(0, MOST_IN_TEXT);
  const options = [
    ...presets.map((name) => `--allow-preset ${name}`),
    // A preset allows other hosts too, so it is never the only way.
    ...(unlisted.length === 0 ? [] : ["--allow-host"]),
    ...(refused.some(({ why }) => why.includes("public address")) ? ["--allow-host NAME=ADDRESS"] : []),
  ];
  return options.join(" or ");
}

/**
 * Returns the hosts that were denied to a turn, such as `example.com:443 (3 times)`; empty if there were none, or only telemetry, which no
 * work misses.
 */
export function formatRefused(egress: EgressReport | undefined): string {
  const counts = new Map<string, number>();
  for (const { count, host, port } of toMissed(egress)) {
    const target = formatTarget({ host: hostText(host), port });
    counts.set(target, (counts.get(target) ?? 0) + count);
  }
  return joinFirst(
    [...counts].map(([target, count]) => `${target} (${formatTimes(count)})`),
    MOST_IN_TEXT,
  );
}

/** Returns a sentence that names the allowed hosts that a turn could not reach, with the reasons; none if there were none. */
export function remarkFailed(egress: EgressReport | undefined): readonly string[] {
  const failed = (egress?.failed ?? []).map(({ count, host, port, why }) => {
    return `${formatTarget({ host: hostText(host), port })} (${why}, ${formatTimes(count)})`;
  });
  if (failed.length === 0) return [];
  const hint = egress?.failed?.some(({ why }) => why === CERTIFICATE_REFUSED) ? ` ${CERTIFICATE_HINT}` : "";
  return [`These hosts are allowed, and could not be reached: ${joinFirst(failed, MOST_IN_TEXT)}.${hint}`];
}

function toMissed(egress: EgressReport | undefined): readonly EgressDenial[] {
  return egress?.denied.filter(({ why }) => why !== KNOWN_TELEMETRY) ?? [];
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
  const own = egress && truncateEgress(egress);
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
function truncateEgress({ allowed, denied, failed }: EgressReport): EgressReport {
  const toOthers = (count: number): EgressDenial => ({ ...OTHERS, count, why: "various" });
  return {
    allowed: cut(allowed, (count) => ({ ...OTHERS, count })),
    denied: cut(denied, toOthers),
    ...(failed === undefined ? {} : { failed: cut(failed, toOthers) }),
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
