import { SANDBOX } from "@budgie/sandbox/profile";
import type { Cluster } from "../api/index.ts";
import { POD, PROXY_PORT, type ProcessOrder } from "../requests/index.ts";
import type { LivePod, ReachedPod } from "../session/live-pod.ts";
import { connectFromHere } from "./connect-from-here.ts";
import type { Breach, Target, Wall } from "./judge-walls.ts";
import { findAddresses, listTargets, parseHostPort, toWord, type HostPort } from "./list-targets.ts";
import type { ProbeReport } from "./probe-report.ts";
import { listWords, openError, proveWalls } from "./prove-walls.ts";
import { parseScanReport } from "./scan-report.ts";

/** The proof that the walls around a Pod's network hold, before an agent is started in it. */
export type Gate = {
  /** Begins the proof of a Pod whose sidecar answers, while its agent's container starts. Its failures are those of `prove`; the result never rejects unheard */
  readonly begin: (pod: BegunPod, probe: ProbeBeside) => Promise<BegunProof>;
  /**
   * Resolves to the walls that the Pod lacks and the user accepted. Rejects with `RUNNER_UNAVAILABLE` if another did not hold. Between two
   * processes it ends with `CANCELLED` once the signal aborts.
   */
  readonly prove: (pod: ProvenPod, means: ProofMeans, signal?: AbortSignal) => Promise<readonly Breach[]>;
};

/** The Pod whose proof begins. */
type BegunPod = Pick<ReachedPod, "nodeAddress" | "service">;

/** The Pod to prove. */
export type ProvenPod = BegunPod & Pick<LivePod, "kernel">;

/** A proof that has begun. */
export type BegunProof = {
  readonly targets: readonly Target[];
  /** Attempts of budgie itself */
  readonly control: ProbeReport;
  /** Takes the report of the first attempts of the sidecar, and of later ones after it */
  readonly takeReport: () => Promise<string>;
};

/** The means of a proof. */
type ProofMeans = {
  /** Runs a process as an agent is run, and resolves to what it prints */
  readonly run: RunInPod;
  readonly probe: ProbeBeside;
  /** The proof, if it has begun */
  readonly begun?: Promise<BegunProof> | undefined;
};

type RunScan = (argv: ProcessOrder["argv"]) => Promise<string>;

type RunInPod = (order: ProcessOrder) => Promise<string>;

/** Runs `hold probe` in the sidecar's container. */
type ProbeBeside = (words: readonly string[]) => Promise<string>;

export type GateOptions = {
  /** Walls that the user does without */
  readonly accepted: readonly Wall[];
  /** Ports to which agents may connect, besides the proxy's */
  readonly ports: readonly number[];
  /** Tells if an address takes connections of budgie itself; default: by trying */
  readonly reach?: ((place: HostPort) => Promise<boolean>) | undefined;
  /** Time between two rounds of attempts after a breach; default 1 s */
  readonly pauseMs?: number | undefined;
};

const HOLD = `${POD.programs}/hold`;
const FIRST_ABI_OF_PORTS = 4;
/** The time for which a scan of a node holds. It takes longer than all else of the proof */
const SCAN_MS = 10 * 60_000;
const ALL_PORTS = [1, 65_535] as const;
/**
 * The time for which attempts of the agent's container wait for an answer. Those of the sidecar have waited twice as long by then, also
 * for one from far away.
 */
const WAIT = "wait:100";
const LIMITS = { pids: 512, diskBytes: Number.MAX_SAFE_INTEGER };

/** Creates the gate of a runner's Pods. */
export function createGate({ server }: Pick<Cluster, "server">, options: GateOptions): Gate {
  const { accepted, pauseMs, ports, reach = connectFromHere } = options;
  const reached = new Set<string>();
  const scans = new Map<string, { readonly at: number; readonly found: Promise<readonly Breach[]> }>();
  const toOrder = (argv: ProcessOrder["argv"]): ProcessOrder => ({
    argv,
    env: {},
    unset: ["*"],
    directory: SANDBOX.home,
    // The same as an agent's, or what is proven would be another jail.
    ports: [PROXY_PORT, ...ports],
    isReadOnly: false,
    limits: LIMITS,
  });

  /** Resolves to attempts from a place that the policy leaves alone: budgie's own, each made until it has succeeded. */
  async function probeFromHere(api: readonly HostPort[]): Promise<ProbeReport> {
    const report = new Map<string, "connected">();
    for (const place of api) {
      const word = toWord("tcp", place);
      if (reached.has(word) || (await reach(place))) report.set(word, "connected");
    }
    for (const word of report.keys()) reached.add(word);
    return report;
  }

  /** Scans a Pod's node. A scan that found nothing holds for its other Pods too, for a while. */
  function scanNode(pod: ProvenPod, run: RunScan): Promise<readonly Breach[]> {
    const { nodeAddress = "" } = pod;
    const last = scans.get(nodeAddress);
    // One that failed, such as with a turn that was cancelled, says nothing.
    if (last !== undefined && performance.now() - last.at < SCAN_MS)
      return last.found.catch(() => findListeners(pod, run));
    const found = findListeners(pod, run);
    scans.set(nodeAddress, { at: performance.now(), found });
    const forget = (): void => void scans.delete(nodeAddress);
    found.then((breaches) => (breaches.length > 0 ? forget() : undefined), forget);
    return found;
  }

  function begin(pod: BegunPod, probe: ProbeBeside): Promise<BegunProof> {
    const begun = beginOnce(pod, probe);
    begun.catch(() => undefined);
    return begun;
  }

  async function beginOnce({ nodeAddress, service }: BegunPod, probe: ProbeBeside): Promise<BegunProof> {
    const api = await findAddresses(server);
    const targets = listTargets({ api, service: parseHostPort(service), node: nodeAddress });
    let first: Promise<string> | undefined = probe(listWords(targets));
    first.catch(() => undefined);
    const takeReport = (): Promise<string> => {
      const report = first ?? probe(listWords(targets));
      first = undefined;
      return report;
    };
    return { targets, control: await probeFromHere(api), takeReport };
  }

  async function prove(pod: ProvenPod, { begun, probe, run }: ProofMeans, signal?: AbortSignal) {
    const lacks = [...findKernelLack(pod), ...findAddressLack(pod)];
    refuse(lacks, accepted);
    const { control, takeReport, targets } = await (begun ?? begin(pod, probe));
    const breaches = await proveWalls({
      targets: targets.map((target) => ({ ...target, isOpenPort: isOpenPort(target, pod, ports) })),
      accepted,
      control,
      pauseMs,
      signal,
      probe: (words, from) => (from === "beside" ? takeReport() : run(toOrder([HOLD, "probe", WAIT, ...words]))),
    });
    const listening = await scanNode(pod, (argv) => run(toOrder(argv)));
    refuse(listening, accepted);
    // One sentence says more of a kernel than one for each target.
    const isKnown = ({ wall }: Breach): boolean => lacks.some((lack) => lack.wall === wall);
    return [...lacks, ...breaches.filter((breach) => !isKnown(breach)), ...listening];
  }

  return { begin, prove };
}

/** Tells if the jail lets processes connect to the port of a target, at whatever address. */
function isOpenPort({ at }: Target, { kernel }: ProvenPod, ports: readonly number[]): boolean {
  const port = Number(at.slice(at.lastIndexOf(":") + 1));
  const [first, last] = kernel.ports;
  return at.startsWith("tcp:") && ((port >= first && port <= last) || [PROXY_PORT, ...ports].includes(port));
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
async function findListeners({ nodeAddress }: ProvenPod, run: RunScan): Promise<readonly Breach[]> {
  if (nodeAddress === undefined) return [];
  const host = nodeAddress.includes(":") ? `[${nodeAddress}]` : nodeAddress;
  const printed = await run([HOLD, "scan", host, ...(ALL_PORTS.map(String) as [string, string])]);
  const { hasMore, open } = parseScanReport(printed, ALL_PORTS);
  if (open.length === 0) return [];
  const list = `${open.join(", ")}${hasMore ? " and others" : ""}`;
  return [{ wall: "own-node", text: `nothing kept a process from ports at which its own node listens: ${list}` }];
}
