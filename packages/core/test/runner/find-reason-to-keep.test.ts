import { describe, expect, it } from "vitest";
import { findReasonToKeep, type GcPolicy } from "@budgie/core";

const HOUR_MS = 3_600_000;
const SWEEP: GcPolicy = { olderThanMs: 0, dryRun: false };

describe("findReasonToKeep", () => {
  it.each([
    ["own", 2, /this process/],
    ["live", 2, /lives/],
    ["foreign", 2, /cannot be asked/],
    ["dead", 0, /younger/],
  ] as const)("keeps things of an owner that is %s, %s hours old", (owner, hours, why) => {
    expect(findReasonToKeep({ owner, usedMs: hoursAgo(hours) }, { ...SWEEP, olderThanMs: HOUR_MS })).toMatch(why);
  });

  it("removes old things of a dead owner", () => {
    const subject = { owner: "dead", usedMs: hoursAgo(2) } as const;

    expect(findReasonToKeep(subject, { ...SWEEP, olderThanMs: HOUR_MS })).toBeUndefined();
  });

  it.each([
    ["own", 1000],
    ["live", 1000],
  ] as const)("never removes things of an owner that is %s, by age or by force", (owner, hours) => {
    expect(findReasonToKeep({ owner, usedMs: hoursAgo(hours) }, { ...SWEEP, force: true })).toEqual(expect.any(String));
  });

  it.each([
    [23.9, SWEEP, false],
    [24.1, SWEEP, true],
    [24.1, { ...SWEEP, olderThanMs: 48 * HOUR_MS }, false],
    [0, { ...SWEEP, force: true }, true],
  ])("removes things of a foreign owner, %s hours old, with %j: %s", (hours, policy, goes) => {
    const why = findReasonToKeep({ owner: "foreign", usedMs: hoursAgo(hours) }, policy);

    expect(why === undefined).toBe(goes);
  });

  it("keeps things of a foreign owner with a running turn, at any age and by force too", () => {
    const subject = { owner: "foreign", usedMs: hoursAgo(1000), hasLease: true } as const;

    expect(findReasonToKeep(subject, { ...SWEEP, force: true })).toMatch(/runs a turn/);
  });

  it("ignores the lease of a dead owner", () => {
    expect(findReasonToKeep({ owner: "dead", usedMs: hoursAgo(0), hasLease: true }, SWEEP)).toBeUndefined();
  });

  it.each([
    ["dead", 47, false],
    ["dead", 49, true],
    ["foreign", 47, false],
    ["foreign", 49, true],
  ] as const)(
    "keeps a kept session of an owner that is %s for 48 hours; %s hours after its last use it may go: %s",
    (owner, hours, goes) => {
      const why = findReasonToKeep({ owner, usedMs: hoursAgo(hours), keepMs: 48 * HOUR_MS }, SWEEP);

      expect(why === undefined).toBe(goes);
    },
  );

  it("treats a date in the future as now", () => {
    expect(findReasonToKeep({ owner: "dead", usedMs: hoursAgo(-5) }, SWEEP)).toBeUndefined();
    expect(findReasonToKeep({ owner: "foreign", usedMs: hoursAgo(-5) }, SWEEP)).toMatch(/cannot be asked/);
  });
});

function hoursAgo(hours: number): number {
  return Date.now() - hours * HOUR_MS;
}
