import { existsSync } from "node:fs";
import { endCluster, startCluster, toStateFolder, type Cluster } from "./start-cluster.ts";

/** Names the cluster that the test files of a run share. Workers inherit it. */
const VARIABLE = "BUDGIE_TEST_CLUSTER";

/** Chooses a name for the cluster that the test files of this run share, which other runs on the machine have not, unless there is one. */
export function nameSharedCluster(): void {
  // A lock of each name stays on the machine, so there are no more than a hundred. A run that was killed has left its cluster.
  const names = Array.from({ length: 100 }, (_, index) => `tests-${(process.pid + index) % 100}`);
  process.env[VARIABLE] ??= names.find((name) => !existsSync(toStateFolder(name)));
}

/**
 * Opens the cluster that the test files of a run share, with images of the container engine. The first file that asks starts it.
 * A file makes namespaces of its own, which are deleted in the end, and stops or kills nothing else of the cluster.
 */
export async function shareCluster(namespaces: readonly string[], images: readonly string[] = []): Promise<Cluster> {
  const cluster = await startCluster(findName(), images);
  return {
    ...cluster,
    async [Symbol.asyncDispose]() {
      await cluster.kubectl(["delete", "namespace", "--ignore-not-found", "--wait=false", ...namespaces]);
    },
  };
}

/** Ends the shared cluster, if a file has started it. */
export async function endSharedCluster(): Promise<void> {
  if (existsSync(toStateFolder(findName()))) await endCluster(findName());
}

function findName(): string {
  const name = process.env[VARIABLE];
  if (name === undefined) throw new Error("Only tests of the project cluster can share one.");
  return name;
}
