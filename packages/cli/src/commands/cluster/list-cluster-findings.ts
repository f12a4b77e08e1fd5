import { createOwner } from "@budgie/core";
import type { ClusterSection } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import type { Finding } from "../findings/finding.ts";

/** The configuration of a command for a cluster. */
export type ClusterConfig = Config & { readonly cluster: ClusterSection };

/** Looks at the cluster, and at the images that its sandboxes have. */
export async function listClusterFindings(config: ClusterConfig): Promise<readonly Finding[]> {
  const { cluster, policies, runtime, stateDir } = config;
  const { limits } = policies.ceiling;
  // Imported late, as few users have a cluster.
  const { inspectCluster } = await import("@budgie/runner-kubernetes/inspection");
  const { image = STAND_IN, sidecarImage = STAND_IN } = cluster;
  const owner = createOwner({ stateDir });
  const found = await inspectCluster({ ...cluster, image, sidecarImage, runtimeClass: runtime, limits, owner });
  const isWhole = cluster.image !== undefined && cluster.sidecarImage !== undefined;
  // A stand-in is not an image that the cluster's own rules admit.
  return [...found.filter(({ what }) => what !== "pod" || isWhole), ...listImageFindings(cluster)];
}

/** Stands for an image that nobody named yet, in a Pod that is never created. */
const STAND_IN = "registry.example.com/none";

/** Returns true if sandboxes can start, as far as the findings say. */
export function isReady(findings: readonly Finding[]): boolean {
  return !findings.some(({ state, what }) => state === "failed" && ["cluster", "image", "namespace"].includes(what));
}

function listImageFindings({ image, sidecarImage }: ClusterSection): readonly Finding[] {
  return [judgeImage(image, "sandboxImage"), judgeImage(sidecarImage, "kubernetesSidecarImage")];
}

function judgeImage(image: string | undefined, key: string): Finding {
  if (image === undefined) {
    const text = `"${key}" names no image, and a cluster has none of its own`;
    return { state: "failed", what: "image", text, todo: PUSH };
  }
  if (/@sha256:[\da-f]{64}$/.test(image)) return { state: "ok", what: "image", text: `${image}, as "${key}"` };
  const text = `${image}, as "${key}": a tag may name another image tomorrow; "budgie image push" prints a digest`;
  return { state: "note", what: "image", text };
}

const PUSH = "budgie image push REGISTRY/NAME    # pushes both images, and prints the two keys";
