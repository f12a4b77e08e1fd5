import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner, type Owner, type Runner } from "@budgie/core";
import { createNamespace, shareCluster, startCluster, toEndedProcess, type Cluster } from "@budgie/testkit";
import { createKubernetesRunner, type KubernetesRunnerOptions } from "../src/index.ts";

/** A cluster whose namespace denies all traffic, and the runners of one user on it. */
export type RunnerCluster = AsyncDisposable & {
  readonly server: Cluster;
  readonly namespace: string;
  /** A folder of the host for workspaces and state */
  readonly place: string;
  createRunner(options?: Partial<KubernetesRunnerOptions>): Promise<{ readonly owner: Owner; readonly runner: Runner }>;
};

const POLICY = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "deny-all" },
  spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
};
const LIMITS = { memoryBytes: 512 * 1024 ** 2, cpus: 0.1 };

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
  return {
    server,
    namespace,
    place,
    async createRunner(options = {}) {
      const owner = createOwner({ stateDir, process: toEndedProcess() });
      const where = { kubeconfig: server.kubeconfig, namespace, ...IMAGES };
      const runner = await createKubernetesRunner({ ...where, owner, stateDir, limits: LIMITS, ...options });
      return { owner, runner };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(place, { recursive: true, force: true });
    },
  };
}
