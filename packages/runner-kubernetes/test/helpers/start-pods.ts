import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { createSessionId, type Exit } from "@budgie/core";
import { startCluster, type Cluster as TestCluster } from "@budgie/testkit";
import { connectCluster } from "../../src/api/index.ts";
import { holdLease } from "../../src/lease/index.ts";
import type { ProcessOrder } from "../../src/requests/index.ts";
import { followPods } from "../../src/session/follow-pods.ts";
import type { LivePod } from "../../src/session/live-pod.ts";
import { openPod } from "../../src/session/open-pod.ts";
import { startProcess } from "../../src/session/start-process.ts";
import type { WireStream } from "../../src/wire/index.ts";
import { SHAPE } from "./pod-shape.ts";

/** A cluster for tests with a namespace of sessions' Pods, which has the cluster's name. */
export type TestPods = AsyncDisposable & {
  readonly server: TestCluster;
  open(): Promise<TestPod>;
};

/** A session's Pod on a cluster for tests. */
export type TestPod = LivePod & {
  run(order: Partial<ProcessOrder> & Pick<ProcessOrder, "argv">): Promise<RunResult>;
};

type RunResult = { readonly stdout: string; readonly stderr: string; readonly exit: Exit };

// The kernel counts processes of a user on the whole machine.
// A node of two processors has room for two Pods.
const CPUS = 0.5;
const MIB = 1024 ** 2;
const ORDER = {
  env: {},
  unset: ["KUBERNETES_*"],
  directory: SHAPE.workspace,
  ports: [3128],
  isReadOnly: false,
  limits: { pids: 100, diskBytes: 100 * MIB },
};

/** Starts a cluster with the images of Pods, and holds a Lease in its namespace. */
export async function startPods(name: string): Promise<TestPods> {
  const server = await startCluster(name, [SHAPE.images.agent, SHAPE.images.sidecar]);
  await server.kubectl(["create", "namespace", name]);
  await server.kubectl(["label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"]);
  await server.kubectl(["-n", name, "wait", "--for=create", "sa/default", "--timeout=100s"]);
  const cluster = await connectCluster({ kubeconfig: server.kubeconfig, namespace: name });
  const owner = { instance: randomUUID(), host: "test", lock: "/nowhere" };
  const lease = await holdLease(cluster, owner);
  const pods = followPods(cluster, `dev.budgie.instance=${owner.instance}`);
  return {
    server,
    async open(): Promise<TestPod> {
      const streams: ((stream: WireStream) => void)[] = [];
      const pod = await openPod(
        { cluster, owner, lease, pods },
        {
          session: createSessionId(),
          shape: { ...SHAPE, limits: { ...SHAPE.limits, cpus: CPUS } },
          onStream: (stream) => streams.shift()?.(stream),
          wait: { limitMs: 100_000 },
        },
      );
      return {
        ...pod,
        async run(order): Promise<RunResult> {
          const stream = new Promise<WireStream>((resolve) => void streams.push(resolve));
          const child = await startProcess(pod, { order: { ...ORDER, ...order }, input: "", stderr: stream });
          const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
          return { stdout, stderr, exit };
        },
      };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      pods.close();
      await lease.release();
      await server[Symbol.asyncDispose]();
    },
  };
}
