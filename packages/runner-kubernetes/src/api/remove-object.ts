import { setTimeout as wait } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { ClusterObject, Limits } from "./cluster.ts";
import { checkAnswer, type Asked } from "./judge-answer.ts";
import type { Access } from "./load-access.ts";
import { quote } from "./parse-object.ts";
import { requestCluster } from "./request-cluster.ts";

/** The object to remove. */
export type Removal = {
  readonly path: string;
  readonly object: Pick<ClusterObject, "name" | "uid">;
  readonly asked: Asked;
  readonly isGone: () => Promise<boolean>;
};

const LIMIT_MS = 60_000;
const PAUSE_MS = 300;
// A server that restarts takes some seconds. Somebody who ends budgie may wait for this.
const AWAY_MS = 30_000;
const GONE = [404, 409];

/**
 * Deletes an object, no later one of its name, and waits until it is gone. A second of grace lets kubelet confirm the end. A cluster that is away
 * is asked again for a while: its API server may restart.
 */
export async function removeObject(access: Access, removal: Removal, limits: Limits): Promise<void> {
  const { asked, isGone, object, path } = removal;
  const { limitMs = LIMIT_MS, signal } = limits;
  const until = performance.now() + limitMs;
  const body = {
    kind: "DeleteOptions",
    apiVersion: "v1",
    gracePeriodSeconds: 1,
    propagationPolicy: "Background",
    preconditions: { uid: object.uid },
  };
  const rest = async (): Promise<void> => {
    await wait(PAUSE_MS);
    if (signal?.aborted === true) throw new BudgieError("CANCELLED", "The wait for a removal was cancelled.");
  };

  async function insist<T>(ask: () => Promise<T>): Promise<T> {
    for (const last = Math.min(until, performance.now() + AWAY_MS); ;) {
      try {
        return await ask();
      } catch (error) {
        const isAway = error instanceof BudgieError && error.code === "RUNNER_UNAVAILABLE";
        if (!isAway || performance.now() >= last) throw error;
      }
      await rest();
    }
  }

  await insist(async () => {
    const answer = await requestCluster(access, { method: "DELETE", path, body }, limits);
    // In place of a conflict it is gone, and another has its name.
    if (!GONE.includes(answer.status)) checkAnswer(answer, asked);
  });
  while (!(await insist(isGone))) {
    if (performance.now() >= until) throw lastingError(object.name, asked);
    await rest();
  }
}

function lastingError(name: string, { resource }: Asked): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster has not removed "${quote(name)}" of "${resource}" in time. Check that its node is reachable.`,
  );
}
