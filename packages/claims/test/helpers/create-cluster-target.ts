import { createKubernetesRunner } from "../../../runner-kubernetes/src/kubernetes-runner.ts";
import type { RunnerCluster } from "../../../runner-kubernetes/test/runner-cluster.ts";
import { shareThroughCopies } from "../../../runner-kubernetes/test/share-through-copies.ts";
import type { Target } from "../../src/lab/target.ts";

// The lab's own sessions keep their Pods for some claims, while others make room on a node of two processors. An attack has two minutes, in which
// another lab's Pod may wait for room.
const [LONG_MS, SHORT_MS] = [45_000, 5_000];

/** Creates the target of Pods on a cluster. Their agents work on copies of the lab's directories, which replace these after each turn. */
export function createClusterTarget({ options }: RunnerCluster, listenBeside: Target["listenBeside"]): Target {
  let podIdleMs = LONG_MS;
  return {
    async createRunner({ startProxy, ...lab }) {
      const given = { ...options, ...lab, podIdleMs };
      podIdleMs = SHORT_MS;
      return shareThroughCopies(await createKubernetesRunner(given, { startProxy }));
    },
    hasProxy: true,
    listenBeside,
  };
}
