import { expect, it } from "vitest";
import { BudgieError, createSessionId } from "@budgie/core";
import type { Cluster, ClusterObject } from "../../src/api/index.ts";
import { parseObject } from "../../src/api/parse-object.ts";
import type { HeldLease } from "../../src/lease/index.ts";
import type { FollowedPods } from "../../src/session/follow-pods.ts";
import { openPod, removePod } from "../../src/session/open-pod.ts";
import { connectFakeApi, toObject } from "../helpers/fake-api.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const OWNER = { instance: "0a1b2c3d-0000-4000-8000-000000000000", host: "test", lock: "/nowhere" };
const LEASE: HeldLease = {
  reference: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "lease", uid: "uid-lease" },
  isFresh: () => true,
  ended: new Promise(() => undefined),
  abandon: () => undefined,
  release: async () => undefined,
};

const PODS: FollowedPods = { follow: () => () => undefined, isRefused: () => false, close: () => undefined };

const QUOTA = { status: 403, json: { message: 'pods "a" is forbidden: exceeded quota: none' } };

it("waits for the quota and for the start of a Pod until one and the same moment", async () => {
  let creations = 0;
  let isGone = false;
  const { cluster, heard } = await connectFakeApi(({ method }) => {
    isGone ||= method === "DELETE";
    if (method === "GET" && !isGone) return { status: 200, json: toObject("made") };
    if (method !== "POST") return { status: isGone && method === "GET" ? 404 : 200 };
    return (creations += 1) === 1 ? QUOTA : { status: 201, json: toObject("made") };
  });
  const limitMs = 500;
  const follow: FollowedPods["follow"] = (_name, onState) => {
    const timer = setTimeout(() => onState({ state: "running" }), limitMs - 100);
    return () => clearTimeout(timer);
  };
  const opening = openPod(
    { cluster, owner: OWNER, lease: LEASE, pods: { ...PODS, follow } },
    { session: createSessionId(), shape: SHAPE, onStream: () => undefined, wait: { limitMs } },
  );

  await expect(opening).rejects.toMatchObject({
    code: "QUEUE_FULL",
    message: expect.stringContaining("not reported the Pod's state"),
  });
  expect(heard.map(({ method }) => method)).toContain("DELETE");
});

it("removes a Pod whose session is cancelled while the cluster creates it", async () => {
  const cancelling = new AbortController();
  let isGone = false;
  const { cluster, heard } = await connectFakeApi(({ method }) => {
    isGone ||= method === "DELETE";
    if (method === "GET" && !isGone) return { status: 200, json: toObject("made") };
    if (method !== "POST") return { status: isGone && method === "GET" ? 404 : 200 };
    return (response) => {
      cancelling.abort();
      // The answer comes after whatever the cancellation does.
      setImmediate(() => response.writeHead(201).end(JSON.stringify(toObject("made"))));
    };
  });
  const opening = openPod(
    { cluster, owner: OWNER, lease: LEASE, pods: PODS },
    {
      session: createSessionId(),
      shape: SHAPE,
      onStream: () => undefined,
      wait: { limitMs: 10_000, signal: cancelling.signal },
    },
  );

  await expect(opening).rejects.toMatchObject({ code: "CANCELLED" });
  expect(heard.map(({ method, url }) => `${method} ${url.pathname}`)).toContain(
    "DELETE /api/v1/namespaces/agents/pods/made",
  );
});

it("tries a removal again that failed, when the cluster is back", async () => {
  const asked: string[] = [];
  let failing: Promise<void> | undefined;
  const object = parseObject(toObject("one")) as ClusterObject;
  const removed = new Promise<void>((resolve) => {
    const cluster = {
      get: async () => ({ outcome: "done", object }) as const,
      remove: async () => {
        asked.push("remove");
        if (asked.length === 1) throw new BudgieError("RUNNER_UNAVAILABLE", "away");
        resolve();
      },
    } as unknown as Cluster;
    const pods = PODS;
    failing = removePod({ cluster, owner: OWNER, lease: LEASE, pods }, object);
  });
  await expect(failing).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  await removed;
  expect(asked).toHaveLength(2);
});
