import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import type { Limits } from "@budgie/core/policy";
import { inspectCluster } from "../../src/inspection/index.ts";
import { EXPLAINING, RULES } from "../../src/inspection/judge-rights.ts";
import { serveFakeApi, toList, toObject, writeKubeconfig, type Heard, type Said } from "../helpers/fake-api.ts";

const DENY = { podSelector: {}, policyTypes: ["Ingress", "Egress"] };
const VIOLATION = `pods "budgie-doctor" is forbidden: violates PodSecurity "restricted:v1.30": privileged (container "agent")`;
const forbid = (message: string): Said => ({ status: 403, json: { reason: "Forbidden", message } });

// An object that was not stored has no version.
const TAKEN: Said = { status: 201, json: { metadata: { name: "budgie-doctor", uid: "u" }, spec: {}, status: {} } };
const DENIAL: Said = {
  status: 422,
  json: {
    reason: "Invalid",
    message: `pods "budgie-doctor" is forbidden: ValidatingAdmissionPolicy 'budgie-pods' with binding 'budgie-pods' denied request: spec.containers[*].image: must begin with one of imagePrefixes`,
  },
};

/** The answers of a cluster with all that budgie needs, by the parts of a request that tell them apart. */
const WHOLE: Readonly<Record<string, (heard: Heard) => Said>> = {
  "/version": () => ({ status: 200, json: { gitVersion: "v1.34.4" } }),
  selfsubjectaccessreviews: () => ({ status: 201, json: { status: { allowed: true } } }),
  networkpolicies: () => toList(toObject("deny-all", { spec: DENY })),
  resourcequotas: () =>
    toList(toObject("team", { status: { hard: { pods: "20", "limits.cpu": "40" }, used: { pods: "3" } } })),
  pods: ({ body }) => (body.includes(`"privileged":true`) ? forbid(VIOLATION) : TAKEN),
};

type Asking = { readonly acceptWeaker?: readonly ("policy" | "jail")[]; readonly limits?: Partial<Limits> };

/** Inspects a cluster with some answers in place of the usual ones. Returns a line for each finding. */
async function inspect(answers: Partial<typeof WHOLE> = {}, asking: Asking = {}) {
  const said = { ...WHOLE, ...answers };
  const { heard, kubeconfig } = await serveFakeApi((one) => {
    const part = Object.keys(said).find((name) => one.url.pathname.includes(name)) ?? "";
    return said[part]?.(one) ?? { status: 404 };
  });
  return { heard, lines: await look(kubeconfig, asking) };
}

async function look(kubeconfig: string, asking: Asking = {}): Promise<readonly string[]> {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-inspect-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const owner = createOwner({ stateDir });
  const images = { image: "registry.test/agents", sidecarImage: "registry.test/budgie" };
  const findings = await inspectCluster({ kubeconfig, owner, ...images, ...asking });
  return findings.map(({ state, text, what }) => `${state} ${what}: ${text}`);
}

const failuresOf = (lines: readonly string[]) => lines.filter((line) => !line.startsWith("ok "));

describe("a cluster", () => {
  it("with all that budgie needs has no failure, and is only asked", async () => {
    const { heard, lines } = await inspect();

    expect(lines).toEqual([
      'ok cluster: Kubernetes v1.34.4, context "fake", namespace "agents"',
      "ok rights: the account has each verb of budgie's Role",
      "ok pod: the cluster would take a Pod of budgie's",
      'ok security: Pod Security "restricted" refuses a privileged Pod',
      'ok policy: "deny-all" denies all traffic of all Pods; "budgie doctor --prove" tries it',
      'ok quota: "team": 3 of 20 pods, 0 of 40 limits.cpu',
    ]);
    const written = heard.filter(({ method, url }) => method !== "GET" && !url.pathname.includes("accessreviews"));
    expect(written.map(({ url }) => url.search)).toEqual(["?dryRun=All", "?dryRun=All"]);
    expect(JSON.stringify(heard.map(({ body, url }) => [body, url.href]))).not.toContain("canary");
  });

  it("is asked about the Pod of a turn, with the user's limits and a user of its own", async () => {
    const { heard } = await inspect({}, { limits: { memoryBytes: 7 * 1024 ** 3, diskBytes: 1024 } });

    const bodies = heard.filter(({ method, url }) => method === "POST" && url.pathname.endsWith("/pods"));
    const { spec } = JSON.parse(bodies[0]?.body ?? "");
    const agent = spec.containers.find(({ name }: { readonly name: string }) => name === "agent");
    expect(agent.resources.limits).toMatchObject({ cpu: "2000m", memory: String(7 * 1024 ** 3) });
    expect(spec.volumes).toContainEqual({ name: "home", emptyDir: { sizeLimit: "1536" } });
    expect(spec.securityContext.runAsUser).toBeGreaterThanOrEqual(100_000);
  });

  it("is told the missing rules of its Role, in a Role's words", async () => {
    const { lines } = await inspect({
      selfsubjectaccessreviews: ({ body }) => {
        const { resource, subresource, verb } = JSON.parse(body).spec.resourceAttributes;
        const isLacking = subresource === "exec" || verb === "watch";
        return { status: 201, json: { status: { allowed: !(isLacking && resource !== "leases") } } };
      },
    });

    expect(failuresOf(lines)).toEqual([
      'failed rights: a Role of the namespace "agents" lacks: apiGroups: [""], resources: ["pods"], verbs: ["watch"]',
      'failed rights: a Role of the namespace "agents" lacks: apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"]',
      'note rights: without this rule, budgie cannot explain some waits and lacks: apiGroups: [""], resources: ["events"], verbs: ["watch"]',
    ]);
  });

  it.each<[string, Partial<typeof WHOLE>, RegExp]>([
    [
      "that is too old",
      { "/version": () => ({ status: 200, json: { gitVersion: "v1.29.9" } }) },
      /^failed cluster: .*budgie needs Kubernetes 1\.30 or later$/,
    ],
    [
      "without the namespace",
      { pods: () => ({ status: 404, json: { details: { kind: "namespaces" } } }) },
      /^failed namespace: .* has no namespace "agents"/,
    ],
    [
      "that speaks of a namespace, which is there",
      {
        pods: ({ body }) =>
          forbid(body.includes(`"privileged":true`) ? VIOLATION : 'the quota "a" has no namespace "agents" to count'),
      },
      /^failed pod: .* has no namespace "agents" to count/,
    ],
    [
      "that takes a privileged Pod",
      { pods: () => TAKEN },
      /^failed security: the label pod-security\.kubernetes\.io\/enforce .* is missing/,
    ],
    [
      "with a weaker level",
      {
        pods: ({ body }) =>
          body.includes(`"privileged":true`) ? forbid(VIOLATION.replace("restricted:", "baseline:")) : TAKEN,
      },
      /^failed security: .* is "baseline": it has to be "restricted"$/,
    ],
    [
      "that refuses budgie's own Pod",
      { pods: ({ body }) => (body.includes(`"privileged":true`) ? forbid(VIOLATION) : DENIAL) },
      /^failed pod: .*must begin with one of imagePrefixes/,
    ],
    [
      "without a policy",
      { networkpolicies: () => toList() },
      /^failed policy: no NetworkPolicy denies all traffic .* spec\.podSelector: \{\}/,
    ],
    [
      "whose policy is for one direction",
      { networkpolicies: () => toList(toObject("half", { spec: { ...DENY, policyTypes: ["Ingress"] } })) },
      /^failed policy: no NetworkPolicy denies/,
    ],
    [
      "whose policy is for some Pods",
      {
        networkpolicies: () =>
          toList(toObject("some", { spec: { ...DENY, podSelector: { matchLabels: { app: "web" } } } })),
      },
      /^failed policy: no NetworkPolicy denies/,
    ],
    [
      "that opens Pods again",
      {
        networkpolicies: () =>
          toList(
            toObject("deny-all", { spec: DENY }),
            toObject("dns", { spec: { ...DENY, egress: [{ ports: [{ port: 53 }] }] } }),
          ),
      },
      /^failed policy: "dns" allows Pods of budgie's some traffic/,
    ],
    ["without a quota", { resourcequotas: () => toList() }, /^note quota: no ResourceQuota bounds/],
    [
      "that forbids a look",
      { networkpolicies: () => forbid(`User "x" cannot list resource "networkpolicies" in API group`) },
      /^failed policy: .*apiGroups \["networking\.k8s\.io"\]/,
    ],
  ])("%s is found out", async (_what, answers, expected) => {
    const { lines } = await inspect(answers);

    expect(failuresOf(lines)).toEqual([expect.stringMatching(expected)]);
  });

  it("with a policy for other Pods is as whole as without, and an accepted lack is a note", async () => {
    const other = { ...DENY, podSelector: { matchLabels: { app: "web" } }, egress: [{}] };
    const networkpolicies = () => toList(toObject("deny-all", { spec: DENY }), toObject("web", { spec: other }));

    expect(failuresOf((await inspect({ networkpolicies })).lines)).toEqual([]);
    const none = await inspect({ networkpolicies: () => toList() }, { acceptWeaker: ["policy"] });
    expect(failuresOf(none.lines)).toEqual([expect.stringMatching(/^note policy: .* You accepted that\.$/)]);
  });

  it("that does not answer, or whose kubeconfig is no good, is one finding", async () => {
    expect(await look(writeKubeconfig({ server: "http://127.0.0.1:1" }))).toEqual([
      expect.stringMatching(/^failed cluster: The cluster of the context "fake" cannot be reached \(ECONNREFUSED\)/),
    ]);
    expect(await look("/nowhere/config")).toEqual([
      expect.stringMatching(/^failed cluster: The kubeconfig cannot be read \(ENOENT\)/),
    ]);
  });
});

it("The rights that are asked for are those of the chart's Role", () => {
  const chart = readFileSync(new URL("../../../../deploy/rendered.yaml", import.meta.url), "utf8");
  const [, role = ""] = /^kind: Role\n[^]*?^rules:\n([^]*?)^---/m.exec(chart) ?? [];
  const rules = [...role.matchAll(/apiGroups: \["?([^"\]]*)"?\]\n\s+resources: \[(.*)\]\n\s+verbs: \[(.*)\]/g)];

  const given = rules.map(([, group, resource, verbs = ""]) => ({ group, resource, verbs: verbs.split(", ") }));
  const byName = (one: { readonly resource?: string | undefined }, other: typeof one) =>
    String(one.resource).localeCompare(String(other.resource));
  expect(given.toSorted(byName)).toEqual([...RULES, ...EXPLAINING].toSorted(byName));
});
