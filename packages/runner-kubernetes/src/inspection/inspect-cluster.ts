import { BudgieError, createSessionId, type Owner } from "@budgie/core";
import type { Limits } from "@budgie/core/policy";
import { connectCluster, type Cluster, type ClusterOptions } from "../api/index.ts";
import { quote } from "../api/parse-object.ts";
import { toMetadata } from "../lease/index.ts";
import { chooseClusterLimits, choosePodUser, toPodLimits, toSandboxPod } from "../pod/index.ts";
import type { ClusterFinding } from "./cluster-finding.ts";
import { judgeAdmission } from "./judge-admission.ts";
import { judgePolicies } from "./judge-policies.ts";
import { judgeQuota } from "./judge-quota.ts";
import { judgeRights } from "./judge-rights.ts";

/** The cluster to look at, and what would run there. */
export type ClusterInspection = Pick<ClusterOptions, "context" | "kubeconfig" | "namespace"> & {
  readonly image: string;
  readonly sidecarImage: string;
  readonly runtimeClass?: string | undefined;
  /** Limits of a turn, as the runner takes them; default its own */
  readonly limits?: Partial<Limits> | undefined;
  /** The words of what the user does without; default none */
  readonly acceptWeaker?: readonly string[] | undefined;
  readonly owner: Pick<Owner, "record">;
};

/** Looks at all that a cluster gives to sandboxes, and leaves nothing there. If it does not answer, that is the only finding. */
export async function inspectCluster(inspection: ClusterInspection): Promise<readonly ClusterFinding[]> {
  const cluster = await attempt("cluster", () => connectCluster(inspection));
  if ("state" in cluster) return [cluster];
  const version = await attempt("cluster", () => judgeVersion(cluster));
  if (version.state === "failed") return [version];
  const metadata = toMetadata(inspection.owner.record, createSessionId(), "session");
  const looks = [
    attempt("rights", () => judgeRights(cluster)),
    attempt("pod", () => judgeAdmission(cluster, toTrialPod(inspection, metadata))),
    attempt("policy", () => judgePolicies(cluster, metadata.labels, inspection.acceptWeaker ?? [])),
    attempt("quota", () => judgeQuota(cluster)),
  ];
  return [version, ...(await Promise.all(looks)).flat()];
}

/** Resolves to a finding with the error's message if a look fails. */
async function attempt<Found>(
  what: ClusterFinding["what"],
  look: () => Promise<Found>,
): Promise<Found | ClusterFinding> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof BudgieError) return { state: "failed", what, text: error.message };
    throw error;
  }
}

/** The oldest Kubernetes that speaks the protocol of budgie's execs. */
const OLDEST_MINOR = 30;

async function judgeVersion(cluster: Cluster): Promise<ClusterFinding> {
  const version = await cluster.version();
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const isOld = major === undefined || (Number(major) === 1 && Number(minor) < OLDEST_MINOR);
  const text = `Kubernetes ${version}, context "${quote(cluster.name)}", namespace "${quote(cluster.namespace)}"`;
  return isOld
    ? { state: "failed", what: "cluster", text: `${text}: budgie needs Kubernetes 1.${OLDEST_MINOR} or later` }
    : { state: "ok", what: "cluster", text };
}

/** Returns the Pod of a session, as a turn would have it. Its owner need not be there: nothing is created. */
function toTrialPod(
  { image, limits, runtimeClass, sidecarImage }: ClusterInspection,
  { annotations, labels }: ReturnType<typeof toMetadata>,
) {
  const pod = toSandboxPod({
    name: "budgie-doctor",
    images: { agent: image, sidecar: sidecarImage },
    user: choosePodUser(),
    limits: toPodLimits(chooseClusterLimits(limits)),
    workspace: "/workspace",
    labels,
    owner: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "budgie-doctor", uid: NOBODY },
    runtimeClass,
    mostSeconds: 60,
  });
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

const NOBODY = "00000000-0000-4000-8000-000000000000";
