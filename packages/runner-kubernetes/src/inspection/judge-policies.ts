import type { Cluster, ClusterObject } from "../api/index.ts";
import { fieldsOf, listOf, quote, textOf } from "../api/parse-object.ts";
import type { ClusterFinding } from "./cluster-finding.ts";

/** Judges the network policies of a namespace: one must deny everything, and none may allow Pods of these labels anything. */
export async function judgePolicies(
  cluster: Cluster,
  labels: Readonly<Record<string, string>>,
  accepted: readonly string[],
): Promise<readonly ClusterFinding[]> {
  const policies = await cluster.list("networkpolicies", "");
  const denying = policies.find(deniesAll);
  const opening = policies.filter((policy) => maySelect(policy, labels) && allowsSome(policy));
  const state = accepted.includes("policy") ? "note" : "failed";
  return [
    denying === undefined
      ? {
          state,
          what: "policy",
          text: `${MISSING}${state === "note" ? " You accepted that." : ""}`,
          todo: formatTodo(cluster.namespace),
        }
      : {
          state: "ok",
          what: "policy",
          text: `"${quote(denying.name)}" denies all traffic of all Pods; "budgie doctor --prove" tries it`,
        },
    ...opening.map(({ name }): ClusterFinding => ({
      state,
      what: "policy",
      text: `"${quote(name)}" allows Pods of budgie's some traffic, and policies only add up. Narrow its podSelector, or remove it.`,
    })),
  ];
}

const MISSING =
  'no NetworkPolicy denies all traffic of all Pods. One needs the fields spec.podSelector: {}, spec.policyTypes: ["Ingress", "Egress"], and no rule.';
const POLICY = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "deny-all" },
  spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
};

function formatTodo(namespace: string): string {
  return `echo '${JSON.stringify(POLICY)}' | kubectl -n ${namespace} apply -f -`;
}

function deniesAll(policy: ClusterObject): boolean {
  const types = policy.spec["policyTypes"];
  const isBoth = Array.isArray(types) && ["Ingress", "Egress"].every((type) => types.includes(type));
  return isBoth && isEmpty(policy.spec["podSelector"]) && !allowsSome(policy);
}

function allowsSome({ spec }: ClusterObject): boolean {
  return [spec["ingress"], spec["egress"]].some((rules) => listOf(rules).length > 0);
}

function isEmpty(selector: unknown): boolean {
  return Object.values(fieldsOf(selector)).every((part) => Object.keys(Object(part) as object).length === 0);
}

/** Returns false only for a selector that names another label. Its expressions count as fitting. */
function maySelect({ spec }: ClusterObject, labels: Readonly<Record<string, string>>): boolean {
  const wanted = Object.entries(fieldsOf(fieldsOf(spec["podSelector"])["matchLabels"]));
  return wanted.every(([name, value]) => labels[name] === textOf(value));
}
