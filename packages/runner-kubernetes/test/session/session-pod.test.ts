import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createWire } from "../../src/wire/index.ts";
import type { LivePod } from "../../src/session/live-pod.ts";
import { createSessionPod } from "../../src/session/session-pod.ts";
import { toLivePod } from "../files/to-live-pod.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

/** Creates the place of a session's Pod, and the words for what becomes of its Pods. */
function begin() {
  const did: string[] = [];
  const broken = new Set<LivePod>();
  const pod = createSessionPod({
    session: createSessionId(),
    usualShape: SHAPE,
    async open() {
      const wire = createWire({ side: "budgie", onStream: () => undefined });
      const { pod: fresh } = toLivePod(wire);
      did.push("open");
      return { ...fresh, remove: async () => void did.push("remove") };
    },
    isUsable: async (live) => !broken.has(live),
    pack: async () => void did.push("pack"),
  });
  return { did, broken, pod };
}

it("a Pod in which nothing can be started is left for another one when something starts, and only then", async () => {
  const { broken, did, pod } = begin();
  const first = await pod.open({}, SHAPE);
  expect(await pod.open({}, SHAPE)).toBe(first);
  broken.add(first);
  expect(await pod.open({})).toBe(first);
  expect(did).toEqual(["open"]);

  const second = await pod.open({}, SHAPE);
  expect(second).not.toBe(first);
  expect(did).toEqual(["open", "pack", "remove", "open"]);
  expect(await pod.open({})).toBe(second);
});
