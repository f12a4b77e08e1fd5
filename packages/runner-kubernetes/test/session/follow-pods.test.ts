import { expect, it } from "vitest";
import type { ClusterObject, PodChange } from "../../src/api/index.ts";
import { followPods } from "../../src/session/follow-pods.ts";

/** Follows Pods by a watch that says what the test wants. */
function follow() {
  let change: (change: PodChange) => void = () => undefined;
  let refuse: (error: Error) => void = () => undefined;
  const ended = new Promise<Error>((resolve) => (refuse = resolve));
  const pods = followPods(
    {
      watchPods(_selector, onChange) {
        change = onChange;
        return { close: () => undefined, ended };
      },
    },
    "dev.budgie=1",
  );
  const tell = (name: string, { isGone = false } = {}): void => {
    const status = { phase: "Running", containerStatuses: [{ state: { running: {} } }] };
    change({ isGone, pod: { name, status, isEnding: false } as unknown as ClusterObject });
  };
  const heard: string[] = [];
  const hear = (name: string) => pods.follow(name, (state) => void heard.push(`${name}: ${state?.state ?? "gone"}`));
  return { hear, heard, refuse, tell };
}

it("a Pod that was gone before somebody followed it is told as gone", () => {
  const { hear, heard, tell } = follow();
  const unfollow = hear("one");
  tell("one");
  unfollow();
  tell("one", { isGone: true });
  tell("two");
  hear("one");
  hear("two");
  hear("three");
  expect(heard).toEqual(["one: running", "one: gone", "two: running"]);
});

it("one who follows no longer takes no news from the next one", () => {
  const { hear, heard, tell } = follow();
  const first = hear("one");
  hear("one");
  first();
  tell("one");
  expect(heard).toEqual(["one: running"]);
});

it("each Pod has failed once the cluster does not allow to watch them", async () => {
  const { hear, heard, refuse, tell } = follow();
  tell("one");
  hear("one");
  refuse(new Error("Forbidden."));
  await new Promise((resolve) => setImmediate(resolve));
  hear("two");
  expect(heard).toEqual(["one: running", "one: failed", "two: failed"]);
});
