import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack, shareCluster, type Cluster } from "@budgie/testkit";
import { toSandboxPod } from "../../src/pod/index.ts";
import { installChart } from "./install-chart.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const [CHARTED, OPEN] = ["charted", "uncharted"];
const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  name: "l",
  uid: "11111111-1111-1111-1111-111111111111",
};
const IMAGE = "registry.example.com/budgie/x:1";
const { spec: SPEC, ...POD } = toSandboxPod({
  ...SHAPE,
  name: "p",
  images: { agent: IMAGE, sidecar: IMAGE },
  labels: { "app.kubernetes.io/managed-by": "budgie" },
  owner: LEASE,
});
const [SIDECAR, AGENT] = SPEC.containers;
const LOCKED = AGENT.securityContext;
const WITHOUT_SYSCTLS = { ...SPEC.securityContext, sysctls: undefined };
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
  ["a hook of the agent", withAgent({ lifecycle: SIDECAR.lifecycle }), "lifecycle"],
  ["a request of the node", withSidecar({ lifecycle: { postStart: { httpGet: { port: 80 } } } }), "lifecycle"],
  ["a hook before its end", withSidecar({ lifecycle: { preStop: SIDECAR.lifecycle.postStart } }), "lifecycle"],
  ["a probe", withSidecar({ livenessProbe: { tcpSocket: { port: 80 } } }), "probes"],
  ["a third container", { containers: [SIDECAR, AGENT, { ...SIDECAR, name: "third" }] }, "spec.containers"],
  ["an init container", { initContainers: [{ ...AGENT, name: "first" }] }, "initContainers"],
  ["a folder of the node", { volumes: [...SPEC.volumes, { name: "h", hostPath: { path: "/" } }] }, "hostPath"],
  ["a Secret's volume", { volumes: [...SPEC.volumes, { name: "h", secret: { secretName: "s" } }] }, "volumes"],
  ["the downward API", { volumes: [...SPEC.volumes, { name: "h", downwardAPI: { items: [] } }] }, "volumes"],
  // The API server itself refuses its sysctl there.
  ["the node's network", { hostNetwork: true, securityContext: WITHOUT_SYSCTLS }, "hostNetwork"],
  ["the node's processes", { hostPID: true }, "hostPID"],
  ["another account", { serviceAccountName: "budgie" }, "serviceAccountName"],
  ["the cluster's names", { dnsPolicy: "ClusterFirst" }, "dnsPolicy"],
  ["the user root", { securityContext: { ...SPEC.securityContext, runAsUser: 0 } }, "runAsUser"],
  ["no seccomp profile", { securityContext: { ...SPEC.securityContext, seccompProfile: undefined } }, "seccompProfile"],
];
const lack = findClusterLack();

describe.skipIf(lack !== undefined)("the chart's namespace", () => {
  let cluster: Cluster;
  let refused: readonly string[];
  let admitted: readonly string[];

  beforeAll(async () => {
    cluster = await shareCluster([CHARTED, OPEN]);
    await installChart(cluster, CHARTED);
    await cluster.kubectl(["create", "namespace", OPEN]);
    await cluster.kubectl(["-n", OPEN, "create", "serviceaccount", "budgie"]);
    await cluster.kubectl(["-n", OPEN, "wait", "--for=create", "serviceaccount/default", "--timeout=60s"]);
    refused = await create(CHARTED, CHANGES);
    admitted = await create(OPEN, CHANGES);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  /** Tries to create Pods by one run of kubectl, which goes on after a refusal, and resolves to the lines that it prints. */
  async function create(namespace: string, changes: typeof CHANGES): Promise<readonly string[]> {
    const items = changes.map(([, change], index) => makePod(change, { name: `p${index}`, namespace }));
    const creating = cluster.kubectl(
      ["create", "--dry-run=server", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items }),
    );
    const printed = await creating.then(({ stdout }) => stdout, String);
    return printed.split("\n");
  }

  it("admits budgie's Pod", async () => {
    expect(await create(CHARTED, [["no change", {}, ""]])).toContain("pod/p0 created (server dry run)");
  });

  it.each(CHANGES.map(([title, , field], index) => [title, index, field] as const))(
    "refuses %s, which another namespace admits",
    (_, index, field) => {
      expect(refused.find((line) => line.includes(`pods "p${index}" is forbidden`))).toContain(field);
      expect(admitted).toContain(`pod/p${index} created (server dry run)`);
    },
  );
});

function withAgent(change: object): object {
  return { containers: [SIDECAR, { ...AGENT, ...change }] };
}

function withSidecar(change: object): object {
  return { containers: [{ ...SIDECAR, ...change }, AGENT] };
}

function makePod(change: object, metadata: object) {
  return { ...POD, metadata: { ...POD.metadata, ...metadata }, spec: { ...SPEC, ...change } };
}
