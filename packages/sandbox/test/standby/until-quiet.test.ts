import { expect, it } from "vitest";
import { untilQuiet } from "../../src/standby/until-quiet.ts";

it("waits until no turn starts in five looks, a tenth of a second apart", async () => {
  let looks = 0;
  const starts = {
    get activeCount() {
      return ++looks === 4 ? 1 : 0;
    },
    pendingCount: 0,
  };

  await untilQuiet(starts, new AbortController().signal);

  expect(looks).toBe(4 + 5);
});
