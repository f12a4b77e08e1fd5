import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { findClusterLack, startCluster, type Cluster as TestCluster } from "@budgie/testkit";
import { connectCluster, type Cluster } from "../../src/api/index.ts";
import { holdLease, type HeldLease } from "../../src/lease/index.ts";
import type { ProcessOrder } from "../../src/requests/index.ts";
import { followPods, type FollowedPods } from "../../src/session/follow-pods.ts";
import type { LivePod } from "../../src/session/live-pod.ts";
import { openPod, type PodOpening } from "../../src/session/open-pod.ts";
import { startProcess } from "../../src/session/start-process.ts";
import type { WireStream } from "../../src/wire/index.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const lack = findClusterLack();
const OWNER = { instance: randomUUID(), host: "test", lock: "/nowhere" };
const ORDER: ProcessOrder = {
  argv: ["sh", "-c", "cat; echo to stderr >&2; exit 3"],
  env: {},
  unset: [],
  directory: "/workspace",
  ports: [3128],
  isReadOnly: false,
  limits: { pids: 100, diskBytes: 100 * 1024 ** 2 },
};

describe.skipIf(lack !== undefined)(`a session's Pod${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  let server: TestCluster;
  let cluster: Cluster;
  let lease: HeldLease;
  let pods: FollowedPods;

  beforeAll(async () => {
    server = await startCluster("l", [SHAPE.images.agent, SHAPE.images.sidecar]);
    await server.kubectl(["create", "namespace", "pods"]);
    await server.kubectl(["label", "namespace", "pods", "pod-security.kubernetes.io/enforce=restricted"]);
    await server.kubectl(["-n", "pods", "wait", "--for=create", "sa/default", "--timeout=100s"]);
    cluster = await connectCluster({ kubeconfig: server.kubeconfig, namespace: "pods" });
    lease = await holdLease(cluster, OWNER);
    pods = followPods(cluster, `dev.budgie.instance=${OWNER.instance}`);
  }, 300_000);
  afterAll(async () => {
    pods?.close();
    await lease?.release();
    await server?.[Symbol.asyncDispose]();
  }, 60_000);

  it("runs processes after each other, and is gone after its removal", async () => {
    const streams: ((stream: WireStream) => void)[] = [];
    const pod: LivePod = await openPod(
      { cluster, owner: OWNER, lease, pods },
      {
        session: createSessionId(),
        shape: SHAPE,
        onStream: (stream) => streams.shift()?.(stream),
        wait: { limitMs: 100_000 },
      },
    );
    for (const input of ["first", "second"]) {
      const stderr = new Promise<WireStream>((resolve) => void streams.push(resolve));
      const child = await startProcess(pod, { order: ORDER, input, stderr });
      expect(await Promise.all([text(child.stdout), text(child.stderr)])).toEqual([input, "to stderr\n"]);
      expect(await child.exit).toMatchObject({ exitCode: 3, reason: undefined });
    }
    await pod.remove();
    expect(await cluster.get("pods", pod.name)).toEqual({ outcome: "missing" });
  }, 200_000);

  it("waits for a quota and for a node with room, says so, and gives up after its limit", async () => {
    const said: string[] = [];
    const wait = { limitMs: 5_000, onWait: (why: string) => void said.push(why) };
    const open = (shape: PodOpening["shape"]) =>
      openPod({ cluster, owner: OWNER, lease, pods }, { session: createSessionId(), shape, onStream: () => {}, wait });

    await expect(open({ ...SHAPE, limits: { ...SHAPE.limits, cpus: 1_000 } })).rejects.toMatchObject({
      code: "QUEUE_FULL",
    });
    await server.kubectl(["-n", "pods", "create", "quota", "none", "--hard=pods=0"]);
    await expect(open(SHAPE)).rejects.toMatchObject({
      code: "QUEUE_FULL",
      message: expect.stringContaining("exceeded quota"),
    });
    await server.kubectl(["-n", "pods", "delete", "quota", "none"]);

    expect(said).toContainEqual(expect.stringContaining("Insufficient cpu"));
    expect(said).toContainEqual(expect.stringContaining("exceeded quota"));
    expect(await cluster.list("pods", `dev.budgie.instance=${OWNER.instance}`)).toEqual([]);
  }, 100_000);
});
