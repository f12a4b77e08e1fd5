import { orAborted } from "@budgie/core/bounds";
import { sendTrust } from "../egress/index.ts";
import { namePod, type LivePod } from "../session/live-pod.ts";
import { openPod, type PodOpening } from "../session/open-pod.ts";
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
  const fresh = await openPod(await orAborted(place(), signal), opening);
  try {
    if (trust !== undefined) await sendTrust(fresh.wire, trust, signal);
    await gate.prove(fresh, (order) => processes.print(fresh, order), signal);
    await fill(fresh);
    return fresh;
  } catch (error) {
    await fresh.remove().catch(() => undefined);
    throw namePod(fresh, error);
  }
}
