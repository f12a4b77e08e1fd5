import { describe, expect, it } from "vitest";
import { toReasonToKeep } from "@budgie/core";

const HOUR_MS = 3_600_000;

describe("toReasonToKeep", () => {
  it.each([
    ["own", 2, /this process/],
    ["live", 2, /lives/],
    ["foreign", 2, /cannot be asked/],
    ["dead", 0, /younger/],
  ] as const)("keeps what is %s, %s hours old", (owner, hours, why) => {
    expect(toReasonToKeep(owner, hoursAgo(hours), { olderThanMs: HOUR_MS, dryRun: false })).toMatch(why);
  });

  it("lets go what is dead and old enough", () => {
    expect(toReasonToKeep("dead", hoursAgo(2), { olderThanMs: HOUR_MS, dryRun: false })).toBeUndefined();
  });
});

function hoursAgo(hours: number): Date {
  return new Date(Date.now() - hours * HOUR_MS);
}
