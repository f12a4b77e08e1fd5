import { expect, it, vi } from "vitest";
import { BudgieError } from "@budgie/core";
import { parseObject } from "../../src/api/parse-object.ts";
import type { Answer, ClusterObject } from "../../src/api/index.ts";
import { discardPod } from "../../src/lease/discard-pod.ts";
import { toObject } from "../helpers/fake-api.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";

/** Creates a cluster that is away for the first so many questions about a Pod. */
function createCluster(awayFor: number, answer: Answer) {
  let asked = 0;
  const get = vi.fn(async () => {
    asked += 1;
    if (asked <= awayFor) throw new BudgieError("RUNNER_UNAVAILABLE", "away");
    return answer;
  });
  return { get, remove: vi.fn(async () => undefined) };
}

const FOUND = { outcome: "done", object: parseObject(toObject("one")) as ClusterObject } as const;

it("removes a Pod by its name at once, and minds none that was not created or is being deleted", async () => {
  const ended = new Promise<undefined>(() => undefined);
  const ending: Answer = { outcome: "done", object: { ...FOUND.object, isEnding: true } };
  const [found, ...others] = [
    createCluster(0, FOUND),
    createCluster(0, { outcome: "missing" }),
    createCluster(0, ending),
  ];
  for (const cluster of [found, ...others]) await discardPod({ cluster, lease: { ended } }, "one");

  expect(found.remove).toHaveBeenCalledWith("pods", expect.objectContaining({ name: "one", uid: "uid-one" }));
  for (const { remove } of others) expect(remove).not.toHaveBeenCalled();
});

it("tries again while the cluster is away, until the lease ends, and keeps nobody waiting", async () => {
  const clock = createFakeClock();
  let end: (reason: undefined) => void = () => undefined;
  const lease = { ended: new Promise<undefined>((resolve) => (end = resolve)) };
  const [back, away] = [createCluster(3, FOUND), createCluster(Infinity, FOUND)];
  await discardPod({ cluster: back, lease }, "one", clock);
  await discardPod({ cluster: away, lease }, "two", clock);
  expect([back.get.mock.calls.length, away.get.mock.calls.length]).toEqual([1, 1]);

  await vi.waitFor(() => {
    clock.advance(30_000);
    expect(back.remove).toHaveBeenCalledTimes(1);
  });
  end(undefined);
  await new Promise((resolve) => setImmediate(resolve));
  const before = away.get.mock.calls.length;
  clock.advance(600_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(away.get).toHaveBeenCalledTimes(before);
  expect(away.remove).not.toHaveBeenCalled();
});
