import { createKubernetesRunner, type KubernetesRunnerOptions } from "@budgie/runner-kubernetes";
import type { Target } from "../lab/target.ts";
import { shareThroughCopies } from "./share-through-copies.ts";

/** The options that select the cluster, its images and the limits of a Pod. */
export type KubernetesTargetOptions = Omit<KubernetesRunnerOptions, "login" | "owner" | "stateDir">;

/** Creates the target of sandboxes on a cluster. Its agents work on copies of the lab's directories, which replace them after each turn. */
export function createKubernetesTarget(options: KubernetesTargetOptions): Target {
  return {
    createRunner: async ({ startProxy, ...lab }) =>
      shareThroughCopies(await createKubernetesRunner({ ...options, ...lab }, { startProxy })),
    hasProxy: true,
    // A Pod runs one process of its session.
    atOnce: 1,
  };
}
