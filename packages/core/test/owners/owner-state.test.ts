import { describe, expect, it } from "vitest";
import type { OwnerProcess, OwnerRecord } from "@budgie/core/owners";
import { judgeOwner, type Judge, type LockState, type OwnerSigns } from "../../src/owners/owner-state.ts";
import type { ProcessState } from "../../src/owners/process-state.ts";

const HERE: OwnerProcess = { pidNamespace: "1", pid: 10, started: "500", boot: "now" };
const JUDGE: Judge = { instance: "judge", host: "this", process: HERE };
const OTHER: OwnerRecord = { instance: "other", host: "this", lock: "/state/owners/other", process: HERE };
const LOCKS: readonly LockState[] = ["held", "refused", "missing", "unclear"];

type Case = readonly [what: string, record: OwnerRecord, byLock: Readonly<Record<LockState, string>>];

const all = (state: string): Record<LockState, string> => ({
  held: state,
  refused: state,
  missing: state,
  unclear: state,
});
const OUT_OF_SIGHT = { ...all("foreign"), held: "live" };
const { process: _, ...NAMELESS } = OTHER;

const CASES: readonly Case[] = [
  ["of itself", { ...OTHER, instance: "judge" }, all("own")],
  ["on another machine", { ...OTHER, host: "that" }, OUT_OF_SIGHT],
  ["in another pid namespace", { ...OTHER, process: { ...HERE, pidNamespace: "2" } }, OUT_OF_SIGHT],
  ["of another boot", { ...OTHER, process: { ...HERE, boot: "then" } }, { ...OUT_OF_SIGHT, refused: "dead" }],
  [
    "of another boot and pid namespace",
    { ...OTHER, process: { ...HERE, boot: "then", pidNamespace: "2" } },
    { ...OUT_OF_SIGHT, refused: "dead" },
  ],
  ["who named no process", NAMELESS, { held: "live", refused: "dead", missing: "dead", unclear: "live" }],
];

const STATES: readonly [ProcessState, Readonly<Record<LockState, string>>][] = [
  ["running", all("live")],
  ["ended", { ...all("dead"), held: "live" }],
  ["unclear", { held: "live", refused: "dead", missing: "foreign", unclear: "live" }],
];

describe("judgeOwner", () => {
  describe.each(CASES)("judges an owner %s", (_what, record, byLock) => {
    it.each(LOCKS)("whose lock is %s by the table", (lock) => {
      // A process that is out of sight must not be looked up.
      const findProcessState = (): never => {
        throw new Error("nobody to ask");
      };

      expect(judgeOwner(record, JUDGE, signs({ lock, findProcessState }))).toBe(byLock[lock]);
    });
  });

  describe.each(STATES)("judges an owner whose process here is %s", (state, byLock) => {
    it.each(LOCKS)("and whose lock is %s by the table", (lock) => {
      expect(judgeOwner(OTHER, JUDGE, signs({ lock, findProcessState: () => state }))).toBe(byLock[lock]);
    });
  });

  it("treats a record in its own state directory as one of this machine before its boot", () => {
    const before = { ...OTHER, process: { ...HERE, boot: "then" } };

    expect(judgeOwner(before, JUDGE, signs({ lock: "missing", isRecordedHere: true }))).toBe("dead");
    expect(judgeOwner({ ...before, host: "that" }, JUDGE, signs({ lock: "missing", isRecordedHere: true }))).toBe(
      "foreign",
    );
  });

  it("judges no owner by its process if it does not know its own", () => {
    const judge = { ...JUDGE, process: undefined };

    expect(judgeOwner(OTHER, judge, signs({ lock: "refused" }))).toBe("foreign");
  });
});

function signs(changes: Partial<OwnerSigns>): OwnerSigns {
  return { lock: "missing", findProcessState: () => "running", isRecordedHere: false, ...changes };
}
