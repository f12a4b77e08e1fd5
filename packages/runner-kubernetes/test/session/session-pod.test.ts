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
  return { did, own, pods, toPod };
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

it("a Pod that a dead owner left is packed and removed before the first use, of whatever shape", async () => {
  const left = { name: "left", lost: new Promise(() => undefined), remove: async () => undefined };
  const { did, own } = create({ left: left as unknown as LivePod });
  expect((await own.open(WAIT)).name).toBe("0");
  expect((await own.open(WAIT, SHAPE)).name).toBe("0");
  expect(did).toEqual(["pack left", "open 0"]);
});

it("a caller that is cancelled waits neither for the Pod that another one opens nor for a move", async () => {
  let open: (pod: LivePod) => void = () => undefined;
  const opened = new Promise<LivePod>((resolve) => (open = resolve));
  const signals: AbortSignal[] = [];
  const pack: OwnPodMeans["pack"] = async (_pod, _shape, signal) => {
    signals.push(signal);
    await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  };
  const { own, toPod } = create({ open: () => opened, pack });
  const first = own.open(WAIT);
  const over = [new AbortController(), new AbortController(), new AbortController()] as const;
  const [second, leaving] = [own.open({ signal: over[0].signal }, LARGE), own.leave(over[1].signal)];
  over[0].abort(new Error("second"));
  over[1].abort(new Error("leaving"));
  await expect(second).rejects.toThrow("second");
  await expect(leaving).rejects.toThrow("leaving");
  expect(signals).toEqual([]);

  open(toPod("slow"));
  expect((await first).name).toBe("slow");
  const moving = own.open({ signal: over[2].signal }, LARGE);
  await expect.poll(() => signals.length).toBe(1);
  over[2].abort(new Error("third"));
  await expect(moving).rejects.toThrow("third");
  expect(signals[0]?.aborted).toBe(true);
});
