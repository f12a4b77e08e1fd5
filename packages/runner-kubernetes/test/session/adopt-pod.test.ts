import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { adoptPod } from "../../src/session/adopt-pod.ts";
import type { PodPlace } from "../../src/session/live-pod.ts";
import { connectFakeApi, toList, toObject, type Said } from "../helpers/fake-api.ts";

const RUNNING = { phase: "Running", containerStatuses: [{ state: { running: {} } }] };
const WAITING = { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }] };
const POD = toObject("left", { status: RUNNING });

/** Tries to take over the Pod of a session from an API that has no exec. */
async function begin(patch: (index: number) => Said, pods: readonly object[] = [POD]) {
  let patches = 0;
  const { cluster, heard } = await connectFakeApi(({ method }) => {
    if (method === "PATCH") return patch((patches += 1));
    return method === "GET" ? toList(...pods) : { status: 404 };
  });
  const reference = { apiVersion: "v1", kind: "Lease", name: "lease", uid: "u" };
  const place = {
    cluster,
    owner: { instance: "i", host: "h", lock: "/l" },
    lease: { reference, isFresh: () => true },
  } as unknown as PodPlace;
  const adopting = adoptPod(place, { session: createSessionId(), onStream: () => undefined });
  const patched = () =>
    heard.flatMap(({ method, url }) => (method === "PATCH" ? [url.pathname.split("/").at(-1)] : []));
  return { adopting, methods: () => heard.map(({ method }) => method), patched };
}

it("a Pod that changes meanwhile is taken over all the same, and stays if it cannot be reached", async () => {
  const { adopting, methods } = await begin((tries) => ({ status: tries < 3 ? 409 : 200, json: POD }));
  await expect(adopting).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(methods().filter((method) => method === "PATCH")).toHaveLength(3);
  expect(methods()).not.toContain("DELETE");
});

it("a Pod that changes each time is left alone after some tries", async () => {
  const { adopting, methods } = await begin(() => ({ status: 409, json: { reason: "Conflict" } }));
  await expect(adopting).rejects.toThrow(/changed each time/);
  expect(methods()).not.toContain("DELETE");
});

it("a Pod of which the cluster does not say yet that it runs is taken over, unless another one runs", async () => {
  const [ending, late] = [
    toObject("ending", { metadata: { deletionTimestamp: "2020-01-01T00:00:00Z" }, status: RUNNING }),
    toObject("late", { status: WAITING }),
  ];
  const alone = await begin(() => ({ status: 200, json: late }), [ending, late]);
  await expect(alone.adopting).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(alone.patched()).toEqual(["late"]);
  const beside = await begin(() => ({ status: 200, json: POD }), [late, POD]);
  await expect(beside.adopting).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(beside.patched()).toEqual(["left"]);
});
