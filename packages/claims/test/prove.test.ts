import { describe, expect, it } from "vitest";
import type { Lab } from "../src/lab/lab.ts";
import type { Probe, Verdict } from "../src/probe/claim.ts";
import { attempt } from "../src/prove.ts";

const HELD: Verdict = { outcome: "held", detail: "refused" };
const LAB = {} as Lab;

describe("attempt", () => {
  it("runs a probe once more that failed", async () => {
    const { probe, count } = failing(1);

    expect(await attempt(LAB, probe)).toEqual(HELD);
    expect(count()).toBe(2);
  });

  it("gives up a probe that failed twice", async () => {
    const { probe, count } = failing(Infinity);

    expect(await attempt(LAB, probe)).toEqual({ outcome: "untried", detail: "the engine went away" });
    expect(count()).toBe(2);
  });
});

/** Returns a probe whose first attempts fail, and the number of its attempts. */
function failing(failures: number): { readonly probe: Probe; readonly count: () => number } {
  let attempts = 0;
  const probe: Probe = {
    name: "fails",
    async attempt() {
      if (++attempts <= failures) throw new Error("the engine went away");
      return HELD;
    },
  };
  return { probe, count: () => attempts };
}
