import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { createSessionId, type Exit } from "@budgie/core";
import { createNamespace, shareCluster, type Cluster as TestCluster } from "@budgie/testkit";
import { connectCluster, type Cluster } from "../../src/api/index.ts";
import { holdLease } from "../../src/lease/index.ts";
import type { ProcessOrder } from "../../src/requests/index.ts";
import { followPods } from "../../src/pods/follow-pods.ts";
import { type LivePod, type PodOpening } from "../../src/session/live-pod.ts";
import { openPod } from "../../src/session/open-pod.ts";
import { createPodProcesses } from "../../src/session/pod-processes.ts";
import type { WireStream } from "../../src/wire/index.ts";
import { SHAPE } from "./pod-shape.ts";

/** Sessions' Pods in a namespace of a cluster for tests. */
export type TestPods = AsyncDisposable & {
  readonly cluster: Cluster;
  /** Labels of the Pods, as a selector */
  readonly selector: string;
  open(opening?: TestOpening): Promise<TestPod>;
};

/** A Pod to open, where it differs from others. */
type TestOpening = Partial<Pick<PodOpening, "shape" | "wait">> & {
  /** Carries the connections of its agent */
  readonly carry?: (stream: WireStream) => void;
};

/** A session's Pod on a cluster for tests. */
export type TestPod = LivePod & {
  run(order: Partial<ProcessOrder> & Pick<ProcessOrder, "argv">, input?: string): Promise<RunResult>;
};

type RunResult = { readonly stdout: string; readonly stderr: string; readonly exit: Exit };

const MIB = 1024 ** 2;
const ORDER: Omit<ProcessOrder, "argv"> = {
  env: {},
  unset: ["KUBERNETES_*"],
  directory: SHAPE.workspace,
  ports: [3128],
  isReadOnly: false,
  limits: { pids: 100, diskBytes: 100 * MIB },
};

/** Makes a namespace of sessions' Pods on the cluster that test files share. */
export async function startPods(namespace: string): Promise<TestPods & { readonly server: TestCluster }> {
  const server = await shareCluster([namespace], Object.values(SHAPE.images));
  await createNamespace(server, namespace);
  const pods = await holdPods(await connectCluster({ kubeconfig: server.kubeconfig, namespace }));
  return {
    ...pods,
    server,
    async [Symbol.asyncDispose]() {
      await pods[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Holds a Lease for Pods in a namespace. */
export async function holdPods(cluster: Cluster): Promise<TestPods> {
  const owner = { instance: randomUUID(), host: "test", lock: "/nowhere" };
  const lease = await holdLease(cluster, owner);
  const selector = `dev.budgie.instance=${owner.instance}`;
  const pods = followPods(cluster, selector);
  return {
    cluster,
    selector,
    async open({ carry, shape = SHAPE, wait = { limitMs: 100_000 } } = {}) {
      const processes = createPodProcesses();
      const onStream = (stream: WireStream): void => {
        if (carry !== undefined && stream.opening.purpose === "egress") carry(stream);
        else processes.takeStderr(stream);
      };
      const opening = { session: createSessionId(), shape, onStream, wait };
      const pod = await openPod({ cluster, owner, lease, pods }, opening);
      return {
        ...pod,
        async run(order, input = "") {
          const child = await processes.start(pod, { order: { ...ORDER, ...order }, input });
          const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
          return { stdout, stderr, exit };
        },
      };
    },
    async [Symbol.asyncDispose]() {
      pods.close();
      await lease.release();
    },
  };
}
