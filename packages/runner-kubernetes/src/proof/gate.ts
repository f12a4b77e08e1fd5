import { SANDBOX } from "@budgie/sandbox/profile";
import type { Cluster } from "../api/index.ts";
import { POD, type ProcessOrder } from "../requests/index.ts";
import type { LivePod } from "../session/live-pod.ts";
import type { Breach, Wall } from "./judge-walls.ts";
import { findAddresses, listTargets, parseHostPort } from "./list-targets.ts";
import { openError, proveWalls } from "./prove-walls.ts";
import { parseScanReport } from "./scan-report.ts";

/** The proof that the walls around a Pod's network hold, before an agent is started in it. */
export type Gate = {
  /**
   * Resolves to the walls that the Pod lacks and the user accepted. Rejects with `RUNNER_UNAVAILABLE` if another did not hold. `run` runs a
   * process as an agent is run, and resolves to what it prints.
   */
  readonly prove: (pod: ProvenPod, run: RunInPod) => Promise<readonly Breach[]>;
};

/** The Pod to prove. */
export type ProvenPod = Pick<LivePod, "kernel" | "nodeAddress" | "service">;

type RunInPod = (order: ProcessOrder) => Promise<string>;

export type GateOptions = {
  /** Walls that the user does without */
  readonly accepted: readonly Wall[];
  /** Ports to which agents may connect, besides the proxy's */
  readonly ports: readonly number[];
  /** Time between two rounds of attempts after a breach; default 1 s */
  readonly pauseMs?: number | undefined;
};

const HOLD = `${POD.programs}/hold`;
const PROXY_PORT = 3128;
const FIRST_ABI_OF_PORTS = 4;
const ALL_PORTS = [1, 65_535] as const;
const LIMITS = { pids: 512, diskBytes: Number.MAX_SAFE_INTEGER };

/** Creates the gate of a runner's Pods. */
export function createGate({ server }: Pick<Cluster, "server">, { accepted, pauseMs, ports }: GateOptions): Gate {
  const toOrder = (argv: ProcessOrder["argv"], jail: "jailed" | "free"): ProcessOrder => ({
    argv,
    env: {},
    unset: ["*"],
    directory: SANDBOX.home,
    // The same as an agent's, or what is proven would be another jail.
    ports: jail === "jailed" ? [PROXY_PORT, ...ports] : undefined,
    isReadOnly: false,
    limits: LIMITS,
  });

  async function prove(pod: ProvenPod, run: RunInPod): Promise<readonly Breach[]> {
    const lacks = [...findKernelLack(pod), ...findAddressLack(pod)];
    refuse(lacks, accepted);
    const service = parseHostPort(pod.service);
    const targets = listTargets({ api: await findAddresses(server), service, node: pod.nodeAddress });
    const breaches = await proveWalls({
      targets,
      accepted,
      pauseMs,
      probe: (words, jail) => run(toOrder([HOLD, "probe", ...words], jail)),
    });
    const listening = await findListeners(pod, (argv) => run(toOrder(argv, "jailed")));
    refuse(listening, accepted);
    // One sentence says more of a kernel than one for each target.
    const isKnown = ({ wall }: Breach): boolean => lacks.some((lack) => lack.wall === wall);
    return [...lacks, ...breaches.filter((breach) => !isKnown(breach)), ...listening];
  }

  return { prove };
}

function refuse(breaches: readonly Breach[], accepted: readonly Wall[]): void {
  const open = breaches.filter(({ wall }) => !accepted.includes(wall));
  if (open.length > 0) throw openError(open);
}

function findKernelLack({ kernel: { landlock } }: ProvenPod): readonly Breach[] {
  if (landlock >= FIRST_ABI_OF_PORTS) return [];
  const has = landlock === 0 ? "no Landlock" : `Landlock's ABI ${landlock}`;
  const text = `the kernel of its node has ${has}, and the jail needs ABI ${FIRST_ABI_OF_PORTS}, of Linux 6.7, to keep a process from other hosts`;
  return [{ wall: "jail", text }];
}

function findAddressLack({ nodeAddress }: ProvenPod): readonly Breach[] {
  if (nodeAddress !== undefined) return [];
  return [{ wall: "own-node", text: "nothing is known of its own node, whose address the cluster did not tell" }];
}

/** Connects to all ports of the Pod's own node. The jail leaves ephemeral ones open, at which a node has no business listening. */
async function findListeners(
  { nodeAddress }: ProvenPod,
  run: (argv: ProcessOrder["argv"]) => Promise<string>,
): Promise<readonly Breach[]> {
  if (nodeAddress === undefined) return [];
  const host = nodeAddress.includes(":") ? `[${nodeAddress}]` : nodeAddress;
  const printed = await run([HOLD, "scan", host, ...(ALL_PORTS.map(String) as [string, string])]);
  const { hasMore, open } = parseScanReport(printed, ALL_PORTS);
  if (open.length === 0) return [];
  const list = `${open.join(", ")}${hasMore ? " and others" : ""}`;
  return [{ wall: "own-node", text: `nothing kept a process from ports at which its own node listens: ${list}` }];
}
