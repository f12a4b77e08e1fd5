import { BudgieError } from "@budgie/core";
import { findRefusedStatus } from "../wire/index.ts";
import type { Cluster } from "./cluster.ts";
import { judgePod } from "./judge-pod.ts";
import { quote } from "./parse-object.ts";

/**
 * Resolves to the reason why no exec in a Pod will succeed any more after one that failed; `undefined` if the next one may. The Pod is looked at
 * before its session is given up. Rejects if it cannot be looked at.
 */
export async function findRefusal(
  { get }: Pick<Cluster, "get">,
  { name, uid }: { readonly name: string; readonly uid: string },
  failure: unknown,
): Promise<BudgieError | undefined> {
  const status = findRefusedStatus(failure);
  // Credentials that are not accepted any more are renewed before the next try.
  if (status !== 403 && status !== 404) return undefined;
  const answer = await get("pods", name);
  const isGone = answer.outcome === "missing" || (answer.outcome === "done" && answer.object.uid !== uid);
  if (isGone) return deletedError(name);
  if (answer.outcome !== "done") return undefined;
  const state = judgePod(answer.object);
  if (state.state === "failed") return state.error;
  // The credentials are good for this request, and not for an exec.
  return status === 403 ? (failure as BudgieError) : undefined;
}

/** Returns the error of a Pod that is gone. */
export function deletedError(name: string): BudgieError {
  return new BudgieError(
    "AGENT_CRASHED",
    `The Pod "${quote(name)}" was deleted by somebody else. Begin a new session.`,
  );
}
