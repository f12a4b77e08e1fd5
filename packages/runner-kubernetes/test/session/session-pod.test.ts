import { expect, it } from "vitest";
import { BudgieError, createSessionId } from "@budgie/core";
import type { LivePod } from "../../src/session/live-pod.ts";
import { createSessionPod, type OwnPodMeans } from "../../src/session/session-pod.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const LARGE = { ...SHAPE, limits: { ...SHAPE.limits, cpus: 2 } };
const WAIT = {};
const NEVER = new AbortController().signal;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type FakePod = LivePod & { readonly lose: () => void };

/** Creates the place of a session's Pod, whose Pods fail to be removed as often as the test says. */
function create({ removalsToFail = 0, ...means }: Partial<OwnPodMeans> & { readonly removalsToFail?: number } = {}) {
  const did: string[] = [];
  let failures = removalsToFail;
  const toPod = (name: string): FakePod => {
    let lose: () => void = () => undefined;
    const lost = new Promise<BudgieError>((resolve) => {
      lose = () => resolve(new BudgieError("AGENT_CRASHED", "Evicted."));
    });
    const remove = async (): Promise<void> => {
      did.push(`remove ${name}`);
      if (failures > 0) throw new Error(`away ${(failures -= 1)}`);
    };
    return { name, lose, lost, remove } as unknown as FakePod;
  };
  const pods: FakePod[] = [];
  const own = createSessionPod({
    session: createSessionId(),
    usualShape: SHAPE,
    async open() {
      const pod = toPod(String(pods.length));
      pods.push(pod);
      did.push(`open ${pod.name}`);
      return pod;
    },
    pack: async ({ name }) => void did.push(`pack ${name}`),
    ...means,
  });
  return { did, own, pods };
}

it("a lost Pod is removed when that is known, and its session says that it is lost", async () => {
  const { did, own, pods } = create();
  await own.open(WAIT);
  pods[0]?.lose();
  await settle();
  expect(did).toEqual(["open 0", "remove 0"]);
  expect(own.isLost()).toBe(true);
  await expect(own.open(WAIT)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
});

it("a lost Pod that cannot be removed is removed with its session", async () => {
  const { did, own, pods } = create({ removalsToFail: 1 });
  await own.open(WAIT);
  pods[0]?.lose();
  await settle();
  await own.remove();
  expect(did).toEqual(["open 0", "remove 0", "remove 0"]);
});

it("a removal that failed can be tried again, and the session stays ended", async () => {
  const { did, own } = create({ removalsToFail: 1 });
  await own.open(WAIT);
  await expect(own.remove()).rejects.toThrow("away");
  await expect(own.open(WAIT)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await own.remove();
  await own.remove();
  expect(did).toEqual(["open 0", "remove 0", "remove 0"]);
});

it("no other Pod begins before the one that was packed is gone, and that is packed once", async () => {
  const { did, own } = create({ removalsToFail: 2 });
  await own.open(WAIT);
  await expect(own.open(WAIT, LARGE)).rejects.toThrow("away");
  await expect(own.leave(NEVER)).rejects.toThrow("away");
  expect((await own.open(WAIT, LARGE)).name).toBe("1");
  expect(did).toEqual(["open 0", "pack 0", "remove 0", "remove 0", "remove 0", "open 1"]);
});
