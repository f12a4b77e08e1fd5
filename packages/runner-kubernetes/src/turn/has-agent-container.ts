import { BudgieError } from "@budgie/core";
import { askPod } from "../session/ask-pod.ts";
import { namePod, type LivePod } from "../session/live-pod.ts";

/** Asks a Pod, in which no process runs, if one can be started there. Rejects if the Pod does not answer. */
export async function hasAgentContainer(
  pod: Pick<LivePod, "name" | "wire">,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    await askPod(pod.wire, { purpose: "control", ask: "idle" }, signal);
    return true;
  } catch (error) {
    if (error instanceof BudgieError && error.code === "SESSION_UNUSABLE") return false;
    throw namePod(pod, error);
  }
}
