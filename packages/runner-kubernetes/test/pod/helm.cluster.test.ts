import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack, shareCluster, type Cluster } from "@budgie/testkit";
import { EXPLAINING, RULES } from "../../src/inspection/judge-rights.ts";
import { toSandboxPod } from "../../src/pod/index.ts";
import { CHART } from "./install-chart.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const toPath = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const RENDERED = toPath("deploy/rendered.yaml");
const IMAGE = "registry.example.com/team/agent:1";
const OTHER_VALUES = [
  // YAML would read it as a number.
  ["--set-string", "namespace=123,serviceAccount=456"],
  ["--set", "imagePrefixes={localhost:5000/,registry.example.com/a@}", "--set", "runtimeClasses={gvisor}"],
  ["--set", "podSecurityVersion=v1.34,quota.pods=1"],
].flat();
const lack = findClusterLack();

describe.skipIf(lack !== undefined)(`the chart, by Helm${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  let cluster: Cluster;
  const kubectl = async (argv: readonly string[], input?: object) =>
    (await cluster.kubectl(argv, input && JSON.stringify(input))).stdout.trim();
  const AS_BUDGIE = "--as=system:serviceaccount:budgie:budgie";
  const may = (words: string) =>
    kubectl(["auth", "can-i", AS_BUDGIE, ...words.split(" ")]).then(
      () => true,
      () => false,
    );

  beforeAll(async () => {
    // The chart's own namespace, which no other file has.
    cluster = await shareCluster(["budgie", "open"]);
    await kubectl(["create", "namespace", "open"]);
    await cluster.helm(readInstallation());
    for (const name of ["budgie", "open"])
      await kubectl(["-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=100s"]);
    // A quota counts from when a controller has seen it.
    const counts = "--for=jsonpath={.status.hard.services}=0";
    await kubectl(["-n", "budgie", "wait", counts, "quota/budgie", "--timeout=100s"]);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  /** Creates a Pod that a Lease owns, and nobody can start. */
  async function createPod(namespace: string, name: string): Promise<void> {
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace } };
    await kubectl(["create", "-f", "-"], lease);
    const uid = await kubectl(["-n", namespace, "get", "lease", name, "-o=jsonpath={.metadata.uid}"]);
    const { metadata, ...pod } = toSandboxPod({
      ...SHAPE,
      name,
      images: { agent: IMAGE, sidecar: IMAGE },
      labels: { "app.kubernetes.io/managed-by": "budgie" },
      owner: { apiVersion: lease.apiVersion, kind: "Lease", name, uid },
    });
    await kubectl(["create", "-f", "-"], { ...pod, metadata: { ...metadata, namespace } });
  }

  it("renders what is committed, which the API server accepts", async () => {
    const { stdout } = await cluster.helm(["template", "budgie", CHART]);
    expect(stdout).toBe(readFileSync(RENDERED, "utf8"));

    const objects = stdout.match(/^kind: /gm)?.length;
    const accepted = await kubectl(["apply", "--dry-run=server", "-f", RENDERED]);
    expect(accepted.split("\n").map((line) => line.endsWith("(server dry run)"))).toEqual(Array(objects).fill(true));
  });

  it("passes lint, and is installed with other values", async () => {
    await cluster.helm(["lint", "--strict", CHART, ...OTHER_VALUES]);
    await cluster.helm(["install", "other", CHART, ...OTHER_VALUES]);
    expect(await kubectl(["-n", "123", "get", "quota/budgie", "-o=jsonpath={.spec.hard.pods}"])).toBe("1");
    const variables = ["-o=jsonpath={.spec.variables[*].expression}"];
    expect(await kubectl(["get", "validatingadmissionpolicy/123-pods", ...variables])).toBe(
      'object.spec ["localhost:5000/","registry.example.com/a@"] ["gvisor"]',
    );

    await cluster.helm(["uninstall", "other", "--wait"]);
    await expect(kubectl(["get", "namespace", "123"])).rejects.toThrow("NotFound");
  });

  it.each([
    ["imagePrefixes={registry.example.com/team}", "/imagePrefixes/0"],
    ["imagePrefixes={}", "/imagePrefixes"],
    ["namespace=Upper", "/namespace"],
    ["podSecurityVersion=latest", "/podSecurityVersion"],
    ["runtimeClass=gvisor", "runtimeClass"],
  ])("refuses the value %s", async (value, place) => {
    await expect(cluster.helm(["template", "budgie", CHART, "--set", value])).rejects.toThrow(place);
  });

  it("lets budgie's account do what budgie needs, and nothing else", async () => {
    const lines = (await kubectl(["auth", "can-i", AS_BUDGIE, "--list", "-n", "budgie", "--no-headers"]))
      .split("\n")
      .map((line) => line.split(/\s{2,}/));
    const found = lines
      .filter(([resource = ""]) => resource !== "" && !resource.startsWith("self"))
      .map(([resource, , , verbs = ""]) => [resource, verbs.slice(1, -1).split(" ").toSorted().join(" ")]);
    const needed = [...RULES, ...EXPLAINING].map(({ group, resource, verbs }) => [
      group === "" ? resource : `${resource}.${group}`,
      verbs.toSorted().join(" "),
    ]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(needed));

    for (const allowed of ["create pods --subresource=exec", "patch pods", "patch leases"])
      expect(await may(`${allowed} -n budgie`), allowed).toBe(true);
    for (const refused of ["log", "attach", "portforward", "ephemeralcontainers", "proxy"])
      expect(await may(`* pods --subresource=${refused} -n budgie`), refused).toBe(false);
    for (const refused of ["get secrets -n budgie", "get nodes", "list namespaces", "get pods -n open"])
      expect(await may(refused), refused).toBe(false);
  });

  it("admits no Service, not even one with a port of the node, and no volume claim", async () => {
    for (const kind of ["clusterip", "nodeport", "loadbalancer"]) {
      const creating = (namespace: string) =>
        kubectl(["-n", namespace, "create", "service", kind, kind, "--tcp=8080", "--dry-run=server"]);
      await expect(creating("budgie")).rejects.toThrow("exceeded quota: budgie");
      expect(await creating("open")).toContain("created");
    }
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
    const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "claim" }, spec };
    await expect(kubectl(["-n", "budgie", "create", "-f", "-"], claim)).rejects.toThrow("exceeded quota: budgie");
  });

  it("refuses an ephemeral container, which another namespace admits", async () => {
    const attach = (namespace: string) =>
      kubectl(["-n", namespace, "patch", "pod", "one", "--subresource=ephemeralcontainers", "-p", EPHEMERAL]);
    await createPod("budgie", "one");
    await createPod("open", "one");

    await expect(attach("budgie")).rejects.toThrow("spec.ephemeralContainers: must be empty");
    expect(await attach("open")).toContain("patched");
  });

  it("counts the Pods of the namespace, and refuses one above the quota", async () => {
    const used = "--for=jsonpath={.status.used.pods}=1";
    await kubectl(["-n", "budgie", "wait", used, "quota/budgie", "--timeout=100s"]);
    const limits = "{.status.used.limits\\.memory} {.status.used.limits\\.ephemeral-storage}";
    expect(await kubectl(["-n", "budgie", "get", "quota/budgie", `-o=jsonpath=${limits}`])).not.toMatch(/^0|\b0 | 0$/);

    await cluster.helm(["upgrade", "budgie", CHART, "--reuse-values", "--set", "quota.pods=1"]);
    await kubectl(["-n", "budgie", "wait", "--for=jsonpath={.status.hard.pods}=1", "quota/budgie", "--timeout=100s"]);
    await expect(createPod("budgie", "two")).rejects.toThrow("exceeded quota: budgie");
  });
});

const LOCKED = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };
const EPHEMERAL = JSON.stringify({
  spec: { ephemeralContainers: [{ name: "debug", image: IMAGE, securityContext: LOCKED }] },
});

/** Reads the command that the guide has for Helm, whose chart is in the checkout. */
function readInstallation(): readonly string[] {
  const [, words = ""] = /^helm (install .*)$/m.exec(readFileSync(toPath("docs/kubernetes.md"), "utf8")) ?? [];
  return words.split(" ").map((word) => (word === "deploy/budgie" ? CHART : word.replaceAll("'", "")));
}
