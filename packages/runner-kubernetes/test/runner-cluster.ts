import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner, type Owner, type Runner } from "@budgie/core";
import { startCluster, toEndedProcess, type Cluster } from "@budgie/testkit";
import { createKubernetesRunner, type KubernetesRunnerOptions } from "../src/index.ts";

/** A cluster whose namespace denies all traffic, and the runners of one user on it. */
export type RunnerCluster = AsyncDisposable & {
  readonly server: Cluster;
  readonly namespace: string;
  /** What a runner needs to find it, and the limits of small Pods */
  readonly options: Pick<KubernetesRunnerOptions, "image" | "kubeconfig" | "limits" | "namespace" | "sidecarImage">;
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

/** Starts a cluster. Its namespace and the tags of its images have its name. */
export async function startRunnerCluster(name: string): Promise<RunnerCluster> {
  // A fixed tag, which nodes do not ask a registry for.
  const [image, sidecarImage] = [`budgie-demo:${name}`, `budgie-kubernetes:${name}`];
  for (const tag of [image, sidecarImage]) execFileSync("docker", ["tag", tag.replace(/:.*/, ":latest"), tag]);
  const place = mkdtempSync(join(tmpdir(), "budgie-runner-"));
  const stateDir = join(place, "state");
  const server = await startCluster(name, [image, sidecarImage]);
  await server.kubectl(["create", "namespace", name]);
  await server.kubectl(["label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"]);
  await server.kubectl(["-n", name, "create", "-f", "-"], JSON.stringify(POLICY));
  await server.kubectl(["-n", name, "wait", "--for=create", "sa/default", "--timeout=100s"]);
  const options = { kubeconfig: server.kubeconfig, namespace: name, image, sidecarImage, limits: LIMITS };
  return {
    server,
    namespace: name,
    options,
    place,
    async createRunner(others = {}) {
      const owner = createOwner({ stateDir, process: toEndedProcess() });
      const runner = await createKubernetesRunner({ ...options, owner, stateDir, ...others });
      return { owner, runner };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      execFileSync("docker", ["rmi", image, sidecarImage]);
      rmSync(place, { recursive: true, force: true });
    },
  };
}
