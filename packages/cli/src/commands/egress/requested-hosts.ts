import { BudgieError, KNOWN_TELEMETRY, type EgressCount, type EgressDenial, type EgressReport } from "@budgie/core";
import type { Run } from "@budgie/core/runs";
import { parseAllowedHost } from "@budgie/egress/allow-list";

/** A host that turns requested, and that can be allowed by name. */
export type RequestedHost = {
  readonly host: string;
  readonly port: number;
  /** The number of allowed connections */
  readonly allowed: number;
  /** The number of denied connections */
  readonly denied: number;
  /** The agents that requested it */
  readonly agents: readonly string[];
};

/** The hosts that turns requested. */
export type RequestedHosts = {
  readonly needed: readonly RequestedHost[];
  /** Denials that no entry of an allow-list would have changed */
  readonly never: readonly EgressDenial[];
};

/** Adds up the requested hosts of turns, the most frequent first. Refused telemetry is left out: nothing needs it. */
export function countRequestedHosts(runs: readonly Run[]): RequestedHosts {
  const needed = new Map<string, RequestedHost>();
  const never = new Map<string, EgressDenial>();

  function need({ count, host, port }: EgressCount, agent: string, kind: "allowed" | "denied"): void {
    const key = `${host}:${port}`;
    const before = needed.get(key) ?? { host, port, allowed: 0, denied: 0, agents: [] };
    const agents = before.agents.includes(agent) ? before.agents : [...before.agents, agent];
    needed.set(key, { ...before, agents, [kind]: before[kind] + count });
  }

  function refuse(denial: EgressDenial): void {
    const key = `${denial.host}:${denial.port} ${denial.why}`;
    never.set(key, { ...denial, count: (never.get(key)?.count ?? 0) + denial.count });
  }

  for (const { agent, egress = NOTHING } of runs) {
    for (const entry of egress.allowed.filter(isName)) need(entry, agent, "allowed");
    const denied = egress.denied.filter(({ why }) => why !== KNOWN_TELEMETRY);
    for (const denial of denied.filter(isNameable)) need(denial, agent, "denied");
    for (const denial of denied.filter((candidate) => !isNameable(candidate))) refuse(denial);
  }
  return {
    needed: [...needed.values()].toSorted((a, b) => b.allowed + b.denied - a.allowed - a.denied),
    never: [...never.values()].toSorted((a, b) => b.count - a.count),
  };
}

const NOTHING: EgressReport = { allowed: [], denied: [] };

function isNameable(denial: EgressDenial): boolean {
  return isMissing(denial) && isName(denial);
}

/** Returns whether a longer list would have helped. A name that resolves to a private address needs a pin instead. */
function isMissing({ why }: EgressDenial): boolean {
  return why.endsWith("not on the allow-list") || why === "no network is allowed";
}

/** Returns whether a host is a plain name. Agents choose the text, and users paste it into a shell. */
function isName({ host, port }: EgressCount): boolean {
  try {
    return parseAllowedHost(`${host}:${port}`, "run log").host === host && !host.startsWith("*");
  } catch (error) {
    if (error instanceof BudgieError) return false;
    throw error;
  }
}
