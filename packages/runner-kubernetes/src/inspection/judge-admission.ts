import { BudgieError } from "@budgie/core";
import { isNamespaceMissing, type Cluster, type Manifest } from "../api/index.ts";
import type { toSandboxPod } from "../pod/index.ts";
import { formatChartTodo, type ClusterFinding } from "./cluster-finding.ts";

/** The Pod of a session, as the cluster would get it. */
type TrialPod = ReturnType<typeof toSandboxPod>;

/** Asks a cluster if it would take budgie's Pod, and refuse a privileged one. Creates neither. */
export async function judgeAdmission(cluster: Cluster, pod: TrialPod): Promise<readonly ClusterFinding[]> {
  const own = await tryPod(cluster, pod);
  if (own !== undefined && isNamespaceMissing(own)) {
    return [{ state: "failed", what: "namespace", text: own.message, todo: formatChartTodo(cluster.namespace) }];
  }
  const privileged = await tryPod(cluster, toPrivileged(pod));
  return [judgeOwn(own?.message), judgeSecurity(privileged?.message, cluster.namespace)];
}

/** Resolves to the cluster's refusal; `undefined` if it would take the Pod, at least once its quota has room. */
async function tryPod(cluster: Cluster, pod: Manifest): Promise<BudgieError | undefined> {
  try {
    await cluster.create("pods", pod, { isDryRun: true });
    return undefined;
  } catch (error) {
    if (!(error instanceof BudgieError) || error.code !== "CONFIG_INVALID") throw error;
    return error;
  }
}

function judgeOwn(refusal: string | undefined): ClusterFinding {
  if (refusal === undefined) return { state: "ok", what: "pod", text: "the cluster would take a Pod of budgie's" };
  return { state: "failed", what: "pod", text: refusal };
}

function judgeSecurity(refusal: string | undefined, namespace: string): ClusterFinding {
  const [, level] = /violates PodSecurity "([a-z]+):/.exec(refusal ?? "") ?? [];
  if (level === "restricted") {
    return { state: "ok", what: "security", text: 'Pod Security "restricted" refuses a privileged Pod' };
  }
  if (refusal !== undefined && level === undefined) {
    return {
      state: "note",
      what: "security",
      text: `Pod Security was not seen, since something else refused its trial: ${refusal}`,
    };
  }
  const what = level === undefined ? "is missing, and a privileged Pod would be taken" : `is "${level}"`;
  const text = `the label ${LABEL} of the namespace "${namespace}" ${what}: it has to be "restricted"`;
  const todo = `kubectl label --overwrite namespace ${namespace} ${LABEL}=restricted`;
  return { state: "failed", what: "security", text, todo };
}

const LABEL = "pod-security.kubernetes.io/enforce";

function toPrivileged({ spec, ...pod }: TrialPod): Manifest {
  const containers = spec.containers.map((container) => ({
    ...container,
    securityContext: { ...container.securityContext, privileged: true, allowPrivilegeEscalation: true },
  }));
  return { ...pod, spec: { ...spec, containers } };
}
