import { createKubernetesRunner } from "../../../runner-kubernetes/src/kubernetes-runner.ts";
import type { RunnerCluster } from "../../../runner-kubernetes/test/runner-cluster.ts";
import { shareThroughCopies } from "../../../runner-kubernetes/test/share-through-copies.ts";
import type { Target } from "../../src/lab/target.ts";

/** Creates the target of Pods on a cluster. Their agents work on copies of the lab's directories, which replace these after each turn. */
export function createClusterTarget({ options }: RunnerCluster, listenBeside: Target["listenBeside"]): Target {
  return {
    createRunner: async ({ startProxy, ...lab }) =>
      // A Pod that waits takes room on a node of two processors.
      shareThroughCopies(await createKubernetesRunner({ ...options, ...lab, podIdleMs: 10_000 }, { startProxy })),
    hasProxy: true,
    listenBeside,
  };
}
