import { expect, it } from "vitest";
import { BudgieError, createSessionId } from "@budgie/core";
import type { PodOpening, PodPlace } from "../../src/session/live-pod.ts";
import { openPod } from "../../src/session/open-pod.ts";
import { startFakePods } from "../start-fake-pods.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const open = (place: PodPlace, rest: Partial<PodOpening> = {}) =>
  openPod(place, {
    session: createSessionId(),
    shape: SHAPE,
    onStream: () => undefined,
    wait: { limitMs: 60_000 },
    ...rest,
  });

it("a Pod is used as soon as kubelet says that its sidecar started, before its status does", async () => {
  await using pods = await startFakePods();
  const reached: unknown[] = [];
  const opening = open(pods.place, {
    onReached: ({ nodeAddress, service }) => void reached.push(nodeAddress, service),
  });
  pods.start(true);

  const pod = await opening;
  expect(pod).toMatchObject({ kernel: { landlock: 6 }, nodeAddress: "10.1.0.2" });
  expect(reached).toEqual(["10.1.0.2", "10.96.0.1:443"]);
  await pod.remove();
  expect(pods.did).toEqual(["exec", "control hello", "control kernel", "remove"]);
});

it("a Pod of whose start nobody tells is used once its status says that it runs", async () => {
  await using pods = await startFakePods();
  const opening = open(pods.place);
  pods.start(false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(pods.did).toEqual([]);
  pods.tell({ state: "running" });

  await (await opening).remove();
});

it("a sidecar that was asked too early is asked again once the whole Pod runs", async () => {
  let asked = 0;
  const absent = { error: { code: "RUNNER_UNAVAILABLE", message: "The agent's container does not run yet." } };
  await using pods = await startFakePods((request) => {
    if (request !== "control kernel" || asked++ > 0) return undefined;
    setImmediate(() => pods.tell({ state: "running" }));
    return absent;
  });
  const opening = open(pods.place);
  pods.start(true);

  const pod = await opening;
  expect(asked).toBe(2);
  await pod.remove();
});

it("a Pod whose agent's container cannot start fails for that reason, though its sidecar answers", async () => {
  await using pods = await startFakePods((request, { opening: { ask } }) => {
    if (ask === "kernel") setImmediate(() => pods.tell({ state: "failed", error: noImage }));
    return request === "control kernel" ? { error: { code: "RUNNER_UNAVAILABLE", message: "Not yet." } } : undefined;
  });
  const noImage = new BudgieError("IMAGE_NOT_FOUND", "No image.");
  const opening = open(pods.place);
  pods.start(true);

  await expect(opening).rejects.toBe(noImage);
  expect(pods.did.at(-1)).toBe("remove");
});
