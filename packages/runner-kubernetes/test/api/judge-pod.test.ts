import { expect, it } from "vitest";
import type { ClusterObject } from "../../src/api/cluster.ts";
import { judgePod } from "../../src/api/judge-pod.ts";
import { parseObject } from "../../src/api/parse-object.ts";
import { toObject } from "../helpers/fake-api.ts";

const toPod = (status: object, metadata: object = {}): ClusterObject => {
  const pod = parseObject(toObject("a", { status, metadata }));
  if (pod === undefined) throw new Error("no object");
  return pod;
};
const judge = (status: object, metadata: object = {}) => judgePod(toPod(status, metadata));
const inContainer = (state: object) => ({
  phase: "Pending",
  containerStatuses: [{ name: "agent", image: "nothing", state }],
});
const unscheduled = (reason: string, message = "") => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason, message }],
});

it.each([
  ["OUT_OF_MEMORY", inContainer({ terminated: { reason: "OOMKilled" } })],
  ["IMAGE_NOT_FOUND", inContainer({ waiting: { reason: "ErrImagePull", message: "no" } })],
  ["IMAGE_NOT_FOUND", inContainer({ waiting: { reason: "ImagePullBackOff" } })],
  ["IMAGE_NOT_FOUND", inContainer({ waiting: { reason: "InvalidImageName" } })],
  ["DISK_LIMIT", { phase: "Failed", reason: "Evicted", message: "Pod ephemeral local storage usage exceeds" }],
  ["DISK_LIMIT", { phase: "Failed", reason: "Evicted", message: 'Usage of EmptyDir volume "home" exceeds the limit' }],
  ["AGENT_CRASHED", { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory" }],
  ["AGENT_CRASHED", { phase: "Running", conditions: [{ type: "DisruptionTarget", status: "True" }] }],
  ["AGENT_CRASHED", { phase: "Running", reason: "NodeLost" }],
  ["AGENT_CRASHED", { phase: "Failed" }],
  ["TIMED_OUT", { phase: "Failed", reason: "DeadlineExceeded" }],
])("is %s for %j", (code, status) => {
  expect(judge(status)).toMatchObject({ state: "failed", error: { code } });
});

it("says how the containers of a Pod ended that failed", () => {
  const [agent] = inContainer({ terminated: { exitCode: 137, reason: "Error" } }).containerStatuses;
  expect(judge({ phase: "Failed", containerStatuses: [agent] })).toMatchObject({
    error: { message: 'The Pod "a" failed: its container "agent" ended with 137. Try again.' },
  });
});

it("names the node on which containers do not start", () => {
  const status = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] };
  expect(judgePod({ ...toPod(status), spec: { nodeName: "n\u001b[1m" } })).toEqual({
    state: "waiting",
    why: 'waiting for the cluster: its containers start on the node "n?[1m"',
  });
});

it.each([
  [unscheduled("Unschedulable", "0/3 nodes have\u001b[1m enough memory"), "0/3 nodes have?[1m enough memory"],
  [
    unscheduled("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."),
    '0/1 nodes are available: 1 Insufficient cpu ("limits" may ask for less)',
  ],
  [unscheduled("SchedulingGated"), "its queue has not admitted it"],
])("waits for room in the cluster, and says for what: %j", (status, words) => {
  expect(judge(status)).toEqual({ state: "waiting", why: `waiting for the cluster: ${words}`, isFull: true });
});

it("waits for a node without a lack of room", () => {
  expect(judge({})).toEqual({ state: "waiting", why: "waiting for the cluster: no node has been chosen" });
});

it("runs when all of its containers do, unless it is being deleted", () => {
  const status = { ...inContainer({ running: {} }), phase: "Running" };
  expect(judge(status)).toEqual({ state: "running" });
  expect(judge(status, { deletionTimestamp: "2026-01-01T00:00:00Z" })).toMatchObject({ state: "failed" });
});

it("bounds what the cluster says", () => {
  const state = judge(unscheduled("Unschedulable", "x".repeat(100_000)));
  expect(JSON.stringify(state).length).toBeLessThan(1_000);
});
