import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createNamespace, findClusterLack, shareCluster, type Cluster as TestCluster } from "@budgie/testkit";
import { connectCluster } from "../../src/api/connect-cluster.ts";
import { judgePod } from "../../src/api/judge-pod.ts";
import type { Cluster, PodChange } from "../../src/api/cluster.ts";
import { holdLease } from "../../src/lease/hold-lease.ts";
import { openExec } from "../../src/wire/open-exec.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";

const IMAGE = "budgie-demo:latest";
const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);
const PATIENT = { timeout: 100_000 };
const LOCKED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  runAsUser: 1000,
  seccompProfile: { type: "RuntimeDefault" },
};

function toPod(name: string, metadata: object = {}, securityContext: object = LOCKED) {
  const container = { name: "agent", image: IMAGE, imagePullPolicy: "Never", command: ["sleep", "infinity"] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { test: "yes" }, ...metadata },
    spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 1, containers: [{ ...container, securityContext }] },
  };
}

describe.skipIf(lack !== undefined)(`a cluster's API${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  let server: TestCluster;
  let cluster: Cluster;

  beforeAll(async () => {
    server = await shareCluster(["api"], [IMAGE]);
    await createNamespace(server, "api");
    await server.kubectl(["-n", "api", "create", "quota", "few", "--hard=count/configmaps=9,pods=4"]);
    cluster = await connectCluster({ kubeconfig: server.kubeconfig, namespace: "api" });
  }, 300_000);
  afterAll(() => server?.[Symbol.asyncDispose](), 60_000);

  async function create(pod: object) {
    const answer = await cluster.create("pods", pod as Record<string, unknown>);
    if (answer.outcome !== "done") throw new Error(JSON.stringify(answer));
    return answer.object;
  }

  it("creates a Pod, watches it, runs a command in it, and waits until it is deleted", async () => {
    expect(await cluster.version()).toMatch(/^v1\./);
    const changes: PodChange[] = [];
    const watch = cluster.watchPods("test=yes", (change) => changes.push(change));
    const pod = await create(toPod("one"));
    await expect.poll(() => changes.some(({ pod }) => judgePod(pod).state === "running"), PATIENT).toBe(true);

    const exec = await openExec(await cluster.execOptions("one", "agent", ["cat"]));
    exec.end("through");
    expect(await text(exec)).toBe("through");

    expect(await cluster.create("pods", toPod("one"))).toEqual({ outcome: "exists" });
    await cluster.remove("pods", { name: "one", uid: randomUUID() });
    expect(await cluster.get("pods", "one")).toMatchObject({ outcome: "done" });
    await cluster.remove("pods", pod);
    expect(await cluster.get("pods", "one")).toEqual({ outcome: "missing" });
    await expect.poll(() => changes.at(-1)?.isGone, PATIENT).toBe(true);
    watch.close();
    expect(await watch.ended).toBeUndefined();
  }, 120_000);

  it("names the field that Pod Security refuses, and says that a quota is used up", async () => {
    const refused = cluster.create("pods", toPod("root", {}, { ...LOCKED, allowPrivilegeEscalation: true }), {
      isDryRun: true,
    });
    await expect(refused).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("allowPrivilegeEscalation"),
    });
    await server.kubectl(["-n", "api", "create", "quota", "none", "--hard=pods=0"]);
    try {
      // The quota counts once the controller has seen it.
      await expect
        .poll(() => cluster.create("pods", toPod("two"), { isDryRun: true }), PATIENT)
        .toMatchObject({ outcome: "wait" });
    } finally {
      await server.kubectl(["-n", "api", "delete", "quota", "none"]);
    }
  }, 120_000);

  it("renews a lease, whose Pods go with it", async () => {
    const clock = createFakeClock();
    const lease = await holdLease(cluster, { instance: randomUUID(), host: "test", lock: "/nowhere" }, clock);
    const read = async () => {
      const answer = await cluster.get("leases", lease.reference.name);
      return answer.outcome === "done" ? answer.object.resourceVersion : answer.outcome;
    };
    const first = await read();
    await create(toPod("owned", { ownerReferences: [lease.reference] }));
    clock.advance(10_000);
    await expect.poll(read, PATIENT).not.toBe(first);
    expect(lease.isFresh()).toBe(true);
    await lease.release();
    expect(await lease.ended).toBeUndefined();
    await expect.poll(async () => (await cluster.get("pods", "owned")).outcome, PATIENT).toBe("missing");
  }, 200_000);
});
