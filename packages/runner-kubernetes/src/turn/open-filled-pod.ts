import { orAborted } from "@budgie/core/bounds";
import { sendTrust } from "../egress/index.ts";
import { probeBeside, type BegunProof } from "../proof/index.ts";
import { namePod, type LivePod, type ReachedPod, type PodOpening } from "../session/live-pod.ts";
import type { ProcessOrder } from "../requests/index.ts";
import { openPod } from "../session/open-pod.ts";
import type { PodProcesses } from "../session/pod-processes.ts";
import type { ClusterContext } from "./cluster-context.ts";

/** The Pod to open, and the means to bring it to where a session may use it. */
export type FilledOpening = PodOpening & {
  readonly processes: Pick<PodProcesses, "print">;
  /** Fills it with what the session has */
  readonly fill: (pod: LivePod) => Promise<void>;
};

/** Opens a Pod with the user's certificates, proves its walls, and fills it. If that fails, no Pod is left. */
export async function openFilledPod(
  { gate, place, trust }: Pick<ClusterContext, "gate" | "place" | "trust">,
  { fill, processes, ...opening }: FilledOpening,
): Promise<LivePod> {
  const { signal } = opening.wait;
  let begun: Promise<BegunProof> | undefined;
  const toProbe = (pod: Pick<ReachedPod, "wire">) => (words: readonly string[]) => probeBeside(pod, words);
  const onReached = (pod: ReachedPod): void => void (begun = gate.begin(pod, toProbe(pod)));
  const fresh = await openPod(await orAborted(place(), signal), { ...opening, onReached });
  try {
    const means = { begun, probe: toProbe(fresh), run: (order: ProcessOrder) => processes.print(fresh, order) };
    // An attempt that goes on ends with the Pod.
    await orAborted(gate.prove(fresh, means, signal), signal);
    if (trust !== undefined) await sendTrust(fresh.wire, trust, signal);
    await fill(fresh);
    return fresh;
  } catch (error) {
    await fresh.remove().catch(() => undefined);
    throw namePod(fresh, error);
  }
}
