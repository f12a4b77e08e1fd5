import { BudgieError, type EgressCount, type EgressDenial, type EgressReport, type Run } from "@budgie/core";
import { parseAllowedHost } from "@budgie/egress/allow-list";

/** A host that turns asked for, and that can be allowed by its name. */
export type RequestedHost = {
  readonly host: string;
  readonly port: number;
  /** How often it was reached */
  readonly allowed: number;
  /** How often it was refused */
  readonly denied: number;
  /** Who asked for it */
  readonly agents: readonly string[];
};

export type RequestedHosts = {
  readonly needed: readonly RequestedHost[];
  /** What no name on a list would have let through */
  readonly never: readonly EgressDenial[];
};

/** Adds up what turns asked for; what was asked for most goes first. */
export function toRequestedHosts(runs: readonly Run[]): RequestedHosts {
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
    for (const denial of egress.denied.filter(isNameable)) need(denial, agent, "denied");
    for (const denial of egress.denied.filter((candidate) => !isNameable(candidate))) refuse(denial);
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

/** Whether a longer list is what would have helped; a name that leads to a private address needs a pin instead. */
function isMissing({ why }: EgressDenial): boolean {
  return why.endsWith("not on the allow-list") || why === "no network is allowed";
}

/** An agent can ask for anything, and this is to be pasted into a shell: only what is a plain name. */
function isName({ host, port }: EgressCount): boolean {
  try {
    return parseAllowedHost(`${host}:${port}`, "run log").host === host && !host.startsWith("*");
  } catch (error) {
    if (error instanceof BudgieError) return false;
    throw error;
  }
}
