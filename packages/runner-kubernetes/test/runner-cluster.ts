import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner, type Owner, type Runner } from "@budgie/core";
import { createNamespace, shareCluster, startCluster, toEndedProcess, type Cluster } from "@budgie/testkit";
import { connectCluster, type ClusterObject } from "../src/api/index.ts";
import { createKubernetesRunner, type KubernetesRunnerOptions } from "../src/index.ts";

/** A cluster whose namespace denies all traffic, and the runners of one user on it. */
export type RunnerCluster = AsyncDisposable & {
  readonly server: Cluster;
  readonly namespace: string;
  /** The place of the cluster for a runner, and the limits of small Pods */
  readonly options: Pick<KubernetesRunnerOptions, "image" | "kubeconfig" | "limits" | "namespace" | "sidecarImage">;
  /** A folder of the host for workspaces and state */
  readonly place: string;
  /** Lists the Pods of a session, at less cost than a run of kubectl */
  listPods(session: string): Promise<readonly ClusterObject[]>;
  createRunner(options?: Partial<KubernetesRunnerOptions>): Promise<{ readonly owner: Owner; readonly runner: Runner }>;
};

const POLICY = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "deny-all" },
  spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
};
const LIMITS = { memoryBytes: 512 * 1024 ** 2 };
/** Nodes of several test files share the machine, and are slower then than one that a server ends on. */
const CLOSE_MS = 30_000;

const COPIED = ["budgie-demo:latest", "budgie-kubernetes:latest"];
// Nodes ask no registry for these.
const IMAGES = { image: "budgie-demo:local", sidecarImage: "budgie-kubernetes:local" };

/** Starts a cluster, whose namespace has its name. */
export async function startRunnerCluster(name: string): Promise<RunnerCluster> {
  return createRunnerCluster(await startCluster(name, COPIED), name);
}

/** Makes a namespace on the cluster that test files share. */
export async function shareRunnerCluster(namespace: string): Promise<RunnerCluster> {
  return createRunnerCluster(await shareCluster([namespace], COPIED), namespace);
}

async function createRunnerCluster(server: Cluster, namespace: string): Promise<RunnerCluster> {
  const place = mkdtempSync(join(tmpdir(), "budgie-runner-"));
  const stateDir = join(place, "state");
  await createNamespace(server, namespace);
  await server.kubectl(["-n", namespace, "create", "-f", "-"], JSON.stringify(POLICY));
  const api = await connectCluster({ kubeconfig: server.kubeconfig, namespace });
  const options = { kubeconfig: server.kubeconfig, namespace, ...IMAGES, limits: LIMITS };
  return {
    server,
    namespace,
    options,
    place,
    listPods: (session) => api.list("pods", `dev.budgie.session=${session}`),
    async createRunner(others = {}) {
      const owner = createOwner({ stateDir, process: toEndedProcess() });
      const runner = await createKubernetesRunner({ ...options, closeMs: CLOSE_MS, owner, stateDir, ...others });
      return { owner, runner };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(place, { recursive: true, force: true });
    },
  };
}
