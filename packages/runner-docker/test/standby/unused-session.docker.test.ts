import { afterAll, describe, expect, it } from "vitest";
import type { SessionId } from "@budgie/core";
import { createGarbagePlace, HOUR_MS, outcomesOf, SWEEP } from "../maintenance/garbage-place.ts";

const garbage = createGarbagePlace();
const { collect, leaveHome, makeOwner } = garbage;
afterAll(() => garbage[Symbol.asyncDispose]());

describe("garbage collection", () => {
  it("removes a dead owner's session that was made ahead for none, unless it may be in another register", async () => {
    const own = makeOwner({}, { started: "1" });
    const elsewhere = makeOwner({ lock: "/elsewhere/owners/lock" }, { started: "1" });
    const [unused, taken, unknown] = [
      await leaveHome(own, { keepMs: HOUR_MS, isAhead: true }),
      await leaveHome(own, { keepMs: HOUR_MS, isAhead: true }),
      await leaveHome(elsewhere, { keepMs: HOUR_MS, isAhead: true }),
    ];
    const sessions = async (id: SessionId) => (id === taken.session ? { owner: own, usedMs: Date.now() } : undefined);

    const report = await collect({ ...SWEEP, sessions });

    expect(outcomesOf(unused, report)).toEqual(["removed volume"]);
    expect([taken, unknown].map((left) => outcomesOf(left, report))).toEqual([["kept volume"], ["kept volume"]]);
  });
});
