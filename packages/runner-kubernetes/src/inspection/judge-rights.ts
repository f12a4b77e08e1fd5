import type { Cluster } from "../api/index.ts";
import { formatChartTodo, type ClusterFinding } from "./cluster-finding.ts";

type Rule = { readonly group: string; readonly resource: string; readonly verbs: readonly string[] };

/** The rules that the runner needs, as the chart's Role has them. */
export const RULES: readonly Rule[] = [
  { group: "", resource: "pods", verbs: ["create", "get", "list", "watch", "patch", "delete"] },
  { group: "", resource: "pods/exec", verbs: ["get", "create"] },
  { group: "coordination.k8s.io", resource: "leases", verbs: ["create", "get", "list", "watch", "patch", "delete"] },
];

/** The rules that only explain what happens. */
export const EXPLAINING: readonly Rule[] = [
  { group: "", resource: "events", verbs: ["get", "list", "watch"] },
  { group: "", resource: "resourcequotas", verbs: ["get", "list"] },
  { group: "networking.k8s.io", resource: "networkpolicies", verbs: ["get", "list"] },
];

/** Asks a cluster for each right of the Role. Each rule that lacks a verb is a finding, in the words of a Role. */
export async function judgeRights(cluster: Cluster): Promise<readonly ClusterFinding[]> {
  const [needed, explaining] = await Promise.all([findLacks(cluster, RULES), findLacks(cluster, EXPLAINING)]);
  if (needed.length + explaining.length === 0) {
    return [{ state: "ok", what: "rights", text: "the account has each verb of budgie's Role" }];
  }
  return [
    ...needed.map((rule): ClusterFinding => ({
      state: "failed",
      what: "rights",
      text: `a Role of the namespace "${cluster.namespace}" lacks: ${formatRule(rule)}`,
      todo: formatChartTodo(cluster.namespace),
    })),
    ...explaining.map((rule): ClusterFinding => ({
      state: "note",
      what: "rights",
      text: `without this rule, budgie cannot explain some waits and lacks: ${formatRule(rule)}`,
    })),
  ];
}

async function findLacks(cluster: Cluster, rules: readonly Rule[]): Promise<readonly Rule[]> {
  const lacks = rules.map(async ({ group, resource, verbs }) => {
    const asked = verbs.map(async (verb) => ((await cluster.may({ group, resource, verb })) ? [] : [verb]));
    return { group, resource, verbs: (await Promise.all(asked)).flat() };
  });
  return (await Promise.all(lacks)).filter(({ verbs }) => verbs.length > 0);
}

/** Returns a rule as the rules of a Role have it. */
function formatRule({ group, resource, verbs }: Rule): string {
  return `apiGroups: ["${group}"], resources: ["${resource}"], verbs: [${verbs.map((verb) => `"${verb}"`).join(", ")}]`;
}
