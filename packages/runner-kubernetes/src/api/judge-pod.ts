import { BudgieError, type ErrorCode } from "@budgie/core";
import { listOf, fieldsOf, textOf, quote } from "./parse-object.ts";
import type { ClusterObject } from "./cluster.ts";

/** The state of a Pod: `waiting` with a sentence for people, and whether for room; `running` with all containers, or `failed` for good. */
export type PodState =
  | { readonly state: "waiting"; readonly why: string; readonly isFull?: boolean }
  | { readonly state: "running" }
  | { readonly state: "failed"; readonly error: BudgieError };

const IMAGE_REASONS = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"];
const CONFIG_REASONS = ["CreateContainerConfigError"];

/** Judges a Pod by its status. A Pod that cannot be scheduled yet waits: the cluster may grow, or a quota may be raised. */
export function judgePod({ isEnding, name, spec, status }: ClusterObject): PodState {
  const conditions = listOf(status["conditions"]);
  const containers = [...listOf(status["initContainerStatuses"]), ...listOf(status["containerStatuses"])];
  const error = findEnd(status, conditions) ?? findContainerEnd(containers) ?? findLoss(status, conditions, containers);
  if (error !== undefined) return { state: "failed", error: podError(name, error) };
  if (isEnding) return { state: "failed", error: podError(name, ["AGENT_CRASHED", "is being deleted", AGAIN]) };
  const isRunning = containers.length > 0 && containers.every((one) => fieldsOf(one["state"])["running"] !== undefined);
  if (isRunning && status["phase"] === "Running") return { state: "running" };
  const isFull = findScheduled(conditions)?.["status"] === "False";
  const why = `waiting for the cluster: ${findWaitReason(conditions, containers, spec)}`;
  return { state: "waiting", why, ...(isFull ? { isFull } : {}) };
}

type Fields = Readonly<Record<string, unknown>>;

/** The code of an end, what happened to the Pod, and what to do. */
type End = readonly [code: ErrorCode, happened: string, advice: string];

const AGAIN = "Try again.";
const MOST_ENDS = 4;

/** Finds the reason that kubelet gives for the whole Pod. */
function findEnd(status: Fields, conditions: readonly Fields[]): End | undefined {
  const reason = textOf(status["reason"]);
  const message = textOf(status["message"]);
  if (reason === "DeadlineExceeded") return ["TIMED_OUT", "reached the cluster's time limit", AGAIN];
  if (reason === "Evicted" && isAboutDisk(message)) {
    return ["DISK_LIMIT", `was evicted: ${quote(message)}`, "Raise the disk limit, or let the agent write less."];
  }
  if (reason === "Evicted") return ["AGENT_CRASHED", `was evicted: ${quote(message)}`, AGAIN];
  const disruption = conditions.find(({ status, type }) => type === "DisruptionTarget" && status === "True");
  if (disruption === undefined) return undefined;
  return ["AGENT_CRASHED", `was disrupted by the cluster: ${quote(textOf(disruption["message"]))}`, AGAIN];
}

/** Kubelet's words for a limit of a container, of a volume and of the Pod. */
function isAboutDisk(message: string): boolean {
  return /ephemeral|emptyDir/iu.test(message);
}

function findContainerEnd(containers: readonly Fields[]): End | undefined {
  for (const container of containers) {
    const { terminated, waiting } = fieldsOf(container["state"]);
    if (textOf(fieldsOf(terminated)["reason"]) === "OOMKilled") {
      return ["OUT_OF_MEMORY", "used up its memory", "Raise the memory limit, or let the agent use less."];
    }
    const reason = textOf(fieldsOf(waiting)["reason"]);
    const words = quote(textOf(fieldsOf(waiting)["message"]));
    const image = quote(textOf(container["image"]));
    if (IMAGE_REASONS.includes(reason)) {
      const happened = `has no image "${image}" (${reason}): ${words}`;
      return ["IMAGE_NOT_FOUND", happened, "Push the image, or check its name and the right to pull it."];
    }
    if (CONFIG_REASONS.includes(reason)) return ["CONFIG_INVALID", `cannot start: ${words}`, "Check the image's user."];
  }
  return undefined;
}

function findLoss(
  { phase, reason }: Fields,
  conditions: readonly Fields[],
  containers: readonly Fields[],
): End | undefined {
  const isLost =
    reason === "NodeLost" || conditions.some(({ reason, type }) => type === "Ready" && reason === "NodeLost");
  if (isLost || phase === "Unknown") return ["AGENT_CRASHED", "was lost with its node", AGAIN];
  if (phase === "Failed") {
    return ["AGENT_CRASHED", `failed: ${quote(textOf(reason)) || listEnds(containers) || "no reason given"}`, AGAIN];
  }
  return phase === "Succeeded" ? ["AGENT_CRASHED", "ended by itself", AGAIN] : undefined;
}

/** Says how containers ended, such as `its container "agent" ended with 137`. */
function listEnds(containers: readonly Fields[]): string {
  const ends = containers.flatMap(({ name, state }) => {
    const { exitCode } = fieldsOf(fieldsOf(state)["terminated"]);
    return typeof exitCode === "number" ? [`its container "${quote(textOf(name))}" ended with ${exitCode}`] : [];
  });
  return ends.slice(0, MOST_ENDS).join(", ");
}

function findWaitReason(conditions: readonly Fields[], containers: readonly Fields[], spec: Fields): string {
  const scheduled = findScheduled(conditions);
  if (scheduled?.["status"] === "False") {
    const fallback = scheduled["reason"] === "SchedulingGated" ? "its queue has not admitted it" : "no node has room";
    const words = quote(textOf(scheduled["message"])) || fallback;
    return /\bInsufficient\b/u.test(words) ? `${words.replace(/\.$/u, "")} ("limits" may ask for less)` : words;
  }
  const reasons = containers.map((one) => textOf(fieldsOf(fieldsOf(one["state"])["waiting"])["reason"]));
  const reason = quote(reasons.find((text) => text !== "") ?? "");
  if (scheduled === undefined) return "no node has been chosen";
  const node = quote(textOf(spec["nodeName"]));
  return `its containers start${node === "" ? "" : ` on the node "${node}"`}${reason === "" ? "" : ` (${reason})`}`;
}

function findScheduled(conditions: readonly Fields[]): Fields | undefined {
  return conditions.find(({ type }) => type === "PodScheduled");
}

function podError(name: string, [code, happened, advice]: End): BudgieError {
  return new BudgieError(code, `The Pod "${quote(name)}" ${happened.replace(/[.:\s]{1,8}$/, "")}. ${advice}`);
}
