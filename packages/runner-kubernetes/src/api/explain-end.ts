import { BudgieError } from "@budgie/core";
import type { Cluster, ClusterObject } from "./cluster.ts";
import { judgePod } from "./judge-pod.ts";
import { listOf, quote, textOf } from "./parse-object.ts";

const LIMIT_MS = 2_000;

/** Returns the reason for which the wire to a Pod ended, with what the cluster knows of the Pod. Never rejects. */
export async function explainEnd(
  cluster: Pick<Cluster, "get">,
  name: string,
  reason: BudgieError,
): Promise<BudgieError> {
  const answer = await cluster.get("pods", name, { limitMs: LIMIT_MS }).catch(() => undefined);
  if (answer?.outcome !== "done") return reason;
  const state = judgePod(answer.object);
  if (state.state === "failed") return state.error;
  return isOfSilentNode(answer.object) ? silentError(answer.object) : reason;
}

/** Tells if a Pod whose containers ran when they were told of last counts as not ready, which is the cluster's word for a node that is silent. */
function isOfSilentNode(pod: ClusterObject): boolean {
  const ready = listOf(pod.status["conditions"]).find(({ type }) => type === "Ready");
  return judgePod(pod).state === "running" && ready?.["status"] === "False";
}

function silentError({ name, spec }: ClusterObject): BudgieError {
  const node = quote(textOf(spec["nodeName"]));
  return new BudgieError(
    "AGENT_CRASHED",
    `The Pod "${quote(name)}" was lost with its node "${node}", which the cluster hears nothing of. Check that node and its kubelet, then begin a new session.`,
  );
}
