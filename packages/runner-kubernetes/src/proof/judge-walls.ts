import type { Outcome, ProbeReport } from "./probe-report.ts";

/**
 * A protection of a Pod's network: the cluster's network policy, the jail that `hold` puts around each process, or that nothing of the Pod's own
 * node is in reach.
 */
export type Wall = "policy" | "jail" | "own-node";

/** An address that no agent may reach. */
export type Target = {
  /** Its protocol, address and port, such as `tcp:10.0.0.1:443` */
  readonly at: string;
  /** A name for people, such as `the API server` */
  readonly name: string;
  /** True for the Pod's own node, traffic to which policies do not stop on many clusters. The jail has to */
  readonly isOwnNode?: boolean | undefined;
  /** The target of the own node to which this one leads if that can be reached */
  readonly leadsTo?: string | undefined;
  /** True for a port to which the jail lets processes connect, at whatever address: only the policy keeps them from it */
  readonly isOpenPort?: boolean | undefined;
};

/** The attempts to reach the targets. */
export type Attempts = {
  /** From a process in the jail */
  readonly jailed: ProbeReport;
  /** From a process without it, which the policy alone stops */
  readonly free: ProbeReport;
  /** From a place that the policy leaves alone; `undefined` if there is none */
  readonly control: ProbeReport | undefined;
};

/** A breach of a wall, as a clause such as `the jail let it reach the API server (tcp:10.0.0.1:443)`. */
export type Breach = { readonly wall: Wall; readonly text: string };

/** Lists the walls that did not hold. An outcome that has more than one meaning counts as a breach. */
export function judgeWalls(targets: readonly Target[], attempts: Attempts): readonly Breach[] {
  const { control, free, jailed } = attempts;
  return targets.flatMap((target) => [
    ...(wasJailed(target, attempts) ? [] : [breach("jail", "the jail", target)]),
    ...(isForPolicy(target, free) && !wasStopped(target, free, control)
      ? [breach("policy", "the network policy", target)]
      : []),
    ...(target.isOwnNode !== true || jailed.get(target.at) === "denied" || wasStopped(target, jailed, control)
      ? []
      : [breach("own-node", "nothing", target)]),
  ]);
}

/** Tells if the kernel denied the attempt itself. Anything else could be the policy's work. */
function wasJailed(target: Target, { control, free, jailed }: Attempts): boolean {
  const { at, isOpenPort = false } = target;
  const outcome = jailed.get(at);
  if (isOpenPort && wasStopped(target, jailed, control)) return true;
  // A kernel without IPv6 has no such sockets, in the jail or out of it.
  const isMissing = at.includes("[") && outcome === "unreachable" && free.get(at) === "unreachable";
  return outcome === "denied" || isMissing;
}

// The sender of a datagram does not learn if it arrived.
const UNANSWERED = "udp:";
const SILENT: readonly (Outcome | undefined)[] = ["timeout", "unreachable"];

function isForPolicy({ at, isOwnNode = false, leadsTo }: Target, free: ProbeReport): boolean {
  const isOfNode = isOwnNode || (leadsTo !== undefined && free.get(leadsTo) === "connected");
  return !isOfNode && !at.startsWith(UNANSWERED);
}

function wasStopped({ at }: Target, report: ProbeReport, control: ProbeReport | undefined): boolean {
  const outcome = report.get(at);
  // A policy may refuse as a closed port does, which only attempts from elsewhere can tell apart.
  return SILENT.includes(outcome) || (outcome === "refused" && control?.get(at) === "connected");
}

function breach(wall: Wall, words: string, { at, name }: Target): Breach {
  const kept = wall === "own-node" ? "kept" : "did not keep";
  return { wall, text: `${words} ${kept} a process from ${name} (${at})` };
}
