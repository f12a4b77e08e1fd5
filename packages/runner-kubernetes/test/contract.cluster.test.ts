import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { describeRunner, findClusterLack } from "@budgie/testkit";
import { listPodProcesses } from "./list-pod-processes.ts";
import { shareRunnerCluster, type RunnerCluster } from "./runner-cluster.ts";
import { shareThroughCopies } from "./share-through-copies.ts";

const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

describe.skipIf(lack !== undefined)("on a cluster", () => {
  let cluster: RunnerCluster;

  beforeAll(async () => {
    cluster = await shareRunnerCluster("contract");
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  /** Lists what the state folder has of a session. */
  function listKept(id: string): readonly string[] {
    const names = readdirSync(join(cluster.place, "state", "kubernetes-sessions"));
    return [...new Set(names.flatMap((name) => (name.startsWith(id) ? [name.replace(/\..*/, "")] : [])))];
  }

  describeRunner("kubernetes", {
    async create(options) {
      const { owner, runner } = await cluster.createRunner(options);
      return {
        runner: shareThroughCopies(runner),
        workspaceRoot: cluster.place,
        die: () => owner.release(),
        async [Symbol.asyncDispose]() {
          await runner.close();
          await owner.release();
        },
      };
    },
    async leftovers(id) {
      const pods = await cluster.listPods(id);
      return {
        running: pods.flatMap(({ uid }) => listPodProcesses(uid)),
        stored: [...pods.map(({ name }) => name), ...listKept(id)],
      };
    },
    widest: { workspace: "rw", egress: { mode: "open", hosts: [] }, limits: {} },
    startsIn: "workspace",
  });
});
