import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe } from "vitest";
import { createOwner, type Runner } from "@budgie/core";

import { describeRunner, findClusterLack, startCluster, toEndedProcess, type Cluster } from "@budgie/testkit";
import { createKubernetesRunner } from "../src/index.ts";
import { listPodProcesses } from "./list-pod-processes.ts";
import { shareThroughCopies } from "./share-through-copies.ts";

const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);
const NAMESPACE = "contract";
// A fixed tag, which nodes do not ask a registry for.
const IMAGES = { agent: "budgie-demo:test", sidecar: "budgie-kubernetes:test" };

const POLICY = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "deny-all" },
  spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
};

describe.skipIf(lack !== undefined)("on a cluster", () => {
  let server: Cluster;
  const listKept = (id: string): readonly string[] => [
    ...new Set(
      readdirSync(join(place, "state", "kubernetes-sessions")).flatMap((name) =>
        name.startsWith(id) ? [name.replace(/\..*/, "")] : [],
      ),
    ),
  ];
  const place = mkdtempSync(join(tmpdir(), "budgie-contract-"));

  beforeAll(async () => {
    for (const image of Object.values(IMAGES))
      execFileSync("docker", ["tag", image.replace(/:test$/, ":latest"), image]);
    server = await startCluster("contract", Object.values(IMAGES));
    await server.kubectl(["create", "namespace", NAMESPACE]);
    await server.kubectl(["label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"]);
    await server.kubectl(["-n", NAMESPACE, "create", "-f", "-"], JSON.stringify(POLICY));
    await server.kubectl(["-n", NAMESPACE, "wait", "--for=create", "sa/default", "--timeout=100s"]);
  }, 300_000);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const image of Object.values(IMAGES)) execFileSync("docker", ["rmi", image]);
    rmSync(place, { recursive: true, force: true });
  }, 60_000);

  describeRunner("kubernetes", {
    async create(options) {
      const stateDir = join(place, "state");
      const owner = createOwner({ stateDir, process: toEndedProcess() });
      const { kubeconfig } = server;
      const limits = { memoryBytes: 512 * 1024 ** 2, cpus: 0.1 };
      const runner: Runner = await createKubernetesRunner({
        ...options,
        kubeconfig,
        namespace: NAMESPACE,
        image: IMAGES.agent,
        sidecarImage: IMAGES.sidecar,
        owner,
        stateDir,
        limits,
      });
      return {
        runner: shareThroughCopies(runner),
        workspaceRoot: place,
        die: () => owner.release(),
        async [Symbol.asyncDispose]() {
          await runner.close();
          await owner.release();
        },
      };
    },
    async leftovers(id) {
      const output = 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\\n"}{end}';
      const argv = ["-n", NAMESPACE, "get", "pods", "-l", `dev.budgie.session=${id}`, "-o", output];
      const { stdout } = await server.kubectl(argv);
      const pods = stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split(" ")]));
      return {
        running: pods.flatMap(([, uid = ""]) => listPodProcesses(uid)),
        stored: [...pods.map(([name = ""]) => name), ...listKept(id)],
      };
    },
    widest: { workspace: "rw", egress: { mode: "open", hosts: [] }, limits: {} },
    startsIn: "workspace",
  });
});
