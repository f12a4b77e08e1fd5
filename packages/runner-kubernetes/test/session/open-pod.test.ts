import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import type { HeldLease } from "../../src/lease/index.ts";
import type { FollowedPods } from "../../src/session/follow-pods.ts";
import { openPod } from "../../src/session/open-pod.ts";
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
  const { cluster, heard } = await connectFakeApi(({ method }) => {
    if (method === "DELETE") return { status: 200 };
    if (method === "GET") return { status: 404 };
    return (creations += 1) === 1 ? QUOTA : { status: 201, json: toObject("made") };
  });
  // Longer than the pause for a quota, with time for requests on a busy machine.
  const limitMs = 4_000;
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
  const { cluster, heard } = await connectFakeApi(({ method }) => {
    if (method === "DELETE") return { status: 200 };
    if (method === "GET") return { status: 404 };
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
