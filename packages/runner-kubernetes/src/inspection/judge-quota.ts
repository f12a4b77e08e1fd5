import type { Cluster, ClusterObject } from "../api/index.ts";
import { fieldsOf, quote, textOf } from "../api/parse-object.ts";
import type { ClusterFinding } from "./cluster-finding.ts";

/** Tells what the quotas of a namespace leave for sandboxes. */
export async function judgeQuota(cluster: Cluster): Promise<readonly ClusterFinding[]> {
  const quotas = await cluster.list("resourcequotas", "");
  if (quotas.length === 0) {
    return [{ state: "note", what: "quota", text: "no ResourceQuota bounds all sandboxes together" }];
  }
  return quotas.map((quota) => ({ state: "ok", what: "quota", text: `"${quote(quota.name)}": ${formatUse(quota)}` }));
}

const SHOWN = ["pods", "limits.cpu", "limits.memory"];

function formatUse({ status }: ClusterObject): string {
  const [hard, used] = [fieldsOf(status["hard"]), fieldsOf(status["used"])];
  const uses = SHOWN.filter((name) => textOf(hard[name]) !== "").map(
    (name) => `${quote(textOf(used[name])) || "0"} of ${quote(textOf(hard[name]))} ${name}`,
  );
  return uses.join(", ") || "no limit of Pods, processors or memory";
}
