import type { Outcome, ProbeReport } from "./probe-report.ts";

/** A protection of a Pod's network: the cluster's network policy, or the jail that `hold` puts around each process. */
export type Wall = "policy" | "jail";

/** An address that no agent may reach. */
export type Target = {
  /** Its protocol, address and port, such as `tcp:10.0.0.1:443` */
  readonly at: string;
  /** A name for people, such as `the API server` */
  readonly name: string;
  /** True for the Pod's own node, traffic to which policies do not stop on many clusters. The jail has to */
  readonly isOwnNode?: boolean | undefined;
};

/** The attempts to reach the targets. */
export type Attempts = {
  /** From a process in the jail */
  readonly jailed: ProbeReport;
  /** From a process without it, which the policy alone stops */
  readonly free: ProbeReport;
  /** From a Pod that the policy leaves alone; `undefined` if there is none */
  readonly control: ProbeReport | undefined;
};

/** A breach of a wall, as a clause such as `the jail let it reach the API server (tcp:10.0.0.1:443)`. */
export type Breach = { readonly wall: Wall; readonly text: string };

/** Lists the walls that did not hold. An outcome that has more than one meaning counts as a breach. */
export function judgeWalls(targets: readonly Target[], attempts: Attempts): readonly Breach[] {
  return targets.flatMap((target) => [
    ...(wasJailed(target, attempts) ? [] : [breach("jail", "the jail", target)]),
    ...(wasStopped(target, attempts) ? [] : [breach("policy", "the network policy", target)]),
  ]);
}

/** Tells if the kernel denied the attempt itself. Anything else could be the policy's work. */
function wasJailed({ at }: Target, { jailed }: Attempts): boolean {
  return jailed.get(at) === "denied";
}

// The sender of a datagram does not learn if it arrived.
const UNANSWERED = "udp:";
const SILENT: readonly (Outcome | undefined)[] = ["timeout", "unreachable"];

function wasStopped({ at, isOwnNode = false }: Target, { control, free }: Attempts): boolean {
  if (isOwnNode || at.startsWith(UNANSWERED)) return true;
  const outcome = free.get(at);
  // A policy may refuse instead of dropping, which only a Pod that it leaves alone can tell from a closed port.
  return SILENT.includes(outcome) || (outcome === "refused" && control?.get(at) === "connected");
}

function breach(wall: Wall, words: string, { at, name }: Target): Breach {
  return { wall, text: `${words} did not keep a process from ${name} (${at})` };
}
