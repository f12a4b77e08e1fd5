import { expect, it } from "vitest";
import { untilQuiet } from "../../src/standby/until-quiet.ts";

const LONG_AGO = () => -Infinity;

/** Creates the starts of a runner, one of which runs until the runner was looked at so many times. */
function createStarts(busyLooks: number) {
  let looks = 0;
  const starts = {
    get activeCount() {
      return ++looks <= busyLooks ? 1 : 0;
    },
    pendingCount: 0,
  };
  return { starts, looks: () => looks };
}

it("waits while a turn starts", async () => {
  const { looks, starts } = createStarts(3);

  await untilQuiet({ starts, lastMs: LONG_AGO }, new AbortController().signal);

  expect(looks()).toBe(4);
});

it("waits until the last start or end of a turn was half a second ago", async () => {
  const lastMs = performance.now();

  await untilQuiet({ starts: createStarts(0).starts, lastMs: () => lastMs }, new AbortController().signal);

  expect(performance.now() - lastMs).toBeGreaterThanOrEqual(500);
});

it("does not wait once it was quiet for as long", async () => {
  const { looks, starts } = createStarts(0);

  await untilQuiet({ starts, lastMs: LONG_AGO }, new AbortController().signal);

  expect(looks()).toBe(1);
});
