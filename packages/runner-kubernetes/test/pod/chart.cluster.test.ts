import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack, startCluster, type Cluster } from "@budgie/testkit";

const RENDERED = fileURLToPath(new URL("../../../../deploy/rendered.yaml", import.meta.url));
const LOCKED = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };
const LIMITS = { cpu: "1", memory: "64Mi", "ephemeral-storage": "64Mi" };
const SPEC = {
  restartPolicy: "Never",
  activeDeadlineSeconds: 60,
  enableServiceLinks: false,
  automountServiceAccountToken: false,
  dnsPolicy: "None",
  dnsConfig: { nameservers: ["127.0.0.1"] },
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
  volumes: [{ name: "home", emptyDir: {} }],
};
const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  name: "l",
  uid: "11111111-1111-1111-1111-111111111111",
};
const AGENT = makeContainer("agent");
const CHANGES: readonly (readonly [string, object, string])[] = [
  [
    "a privileged container",
    withAgent({ securityContext: { ...LOCKED, privileged: true, allowPrivilegeEscalation: true } }),
    "privileged",
  ],
  ["another image", withAgent({ image: "docker.io/x" }), "image"],
  [
    "a variable from a Secret",
    withAgent({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }),
    "env",
  ],
  [
    "an added capability",
    withAgent({ securityContext: { ...LOCKED, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } } }),
    "capabilities",
  ],
  ["a third container", { containers: [makeContainer("budgie"), AGENT, makeContainer("third")] }, "spec.containers"],
  ["an init container", { initContainers: [makeContainer("first")] }, "initContainers"],
  ["a folder of the node", { volumes: [{ name: "h", hostPath: { path: "/" } }] }, "hostPath"],
  ["a Secret's volume", { volumes: [{ name: "h", secret: { secretName: "s" } }] }, "volumes"],
  ["the downward API", { volumes: [{ name: "h", downwardAPI: { items: [] } }] }, "volumes"],
  ["the node's network", { hostNetwork: true }, "hostNetwork"],
  ["the node's processes", { hostPID: true }, "hostPID"],
  ["another account", { serviceAccountName: "budgie" }, "serviceAccountName"],
  ["the cluster's names", { dnsPolicy: "ClusterFirst" }, "dnsPolicy"],
  ["the user root", { securityContext: { ...SPEC.securityContext, runAsUser: 0 } }, "runAsUser"],
  ["no seccomp profile", { securityContext: { runAsNonRoot: true, runAsUser: 1000 } }, "seccompProfile"],
];
const lack = findClusterLack();

describe.skipIf(lack !== undefined)("the chart's namespace", () => {
  let cluster: Cluster;
  const create = (spec: object, namespace: string) =>
    cluster.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(makePod(spec, namespace)));

  beforeAll(async () => {
    cluster = await startCluster("f", []);
    await cluster.kubectl(["apply", "-f", RENDERED]);
    await cluster.kubectl(
      ["apply", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "open" } }),
    );
    for (const name of ["budgie", "open"])
      await cluster.kubectl(
        ["-n", name, "wait", "--for=create", "serviceaccount/budgie", "serviceaccount/default", "--timeout=60s"].filter(
          (word) => name === "budgie" || word !== "serviceaccount/budgie",
        ),
      );
    await cluster.kubectl(["-n", "open", "create", "serviceaccount", "budgie"]).catch(() => undefined);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  it("admits budgie's Pod", async () => {
    expect((await create({}, "budgie")).stdout).toContain("pod/p created");
  });

  it.each(CHANGES)("refuses %s, which another namespace admits", async (_, change, field) => {
    await expect(create(change, "budgie")).rejects.toThrow(field);
    expect((await create(change, "open")).stdout).toContain("pod/p created");
  });
});

function makeContainer(name: string) {
  return { name, image: "registry.example.com/budgie/x:1", securityContext: LOCKED, resources: { limits: LIMITS } };
}

function withAgent(change: object): object {
  return { containers: [makeContainer("budgie"), { ...AGENT, ...change }] };
}

function makePod(change: object, namespace: string) {
  const labels = { "app.kubernetes.io/managed-by": "budgie" };
  const metadata = { name: "p", namespace, labels, ownerReferences: [LEASE] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { ...SPEC, containers: [makeContainer("budgie"), AGENT], ...change },
  };
}
