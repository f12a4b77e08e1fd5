import { expect, it } from "vitest";
import type { PodState } from "../../src/api/index.ts";
import { awaitPod } from "../../src/session/await-pod.ts";

it("asks for room as long as the cluster has none, and not while containers start", async () => {
  const said: string[] = [];
  let tell: (state: PodState) => void = () => undefined;
  const follow = (_name: string, onState: typeof tell) => {
    tell = onState;
    return () => undefined;
  };
  let hear: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (hear = resolve));
  const onFull = (): void => {
    said.push("full");
    hear();
  };
  const waiting = awaitPod({ follow, isRefused: () => false, close: () => undefined }, "a", {
    limitMs: 60_000,
    onFull,
    onWait: (why) => said.push(why),
  });

  tell({ state: "waiting", why: "no node has room", isFull: true });
  await asked;
  tell({ state: "waiting", why: "its containers start" });
  tell({ state: "running" });
  await waiting;

  expect(said).toEqual(["no node has room", "full", "its containers start"]);
});
