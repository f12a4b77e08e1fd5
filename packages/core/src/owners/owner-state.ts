import type { ProcessState } from "./process-state.ts";
import type { OwnerProcess, OwnerRecord } from "./owner-record.ts";

/** The result of connecting to a lock: `unclear` for any error but a refused connection and a missing file. */
export type LockState = "held" | "refused" | "missing" | "unclear";

/** The process that judges an owner. */
export type Judge = Pick<OwnerRecord, "host" | "instance" | "process">;

/** The observations about an owner. */
export type OwnerSigns = {
  readonly lock: LockState;
  /** Called only for processes of the judge's pid namespace and boot */
  readonly findProcessState: (process: OwnerProcess) => ProcessState;
  /** True if the record was found in the state directory that the lock belongs in */
  readonly isRecordedHere: boolean;
};

/** `own`: the judge; `live`: another live owner; `dead`: certainly ended; `foreign`: unreachable, so age decides. */
export type OwnerState = "own" | "live" | "dead" | "foreign";

/** Judges an owner. Returns `dead` only if that is certain (ADR 0003, docs/ownership.md). */
export function judgeOwner(record: OwnerRecord, judge: Judge, signs: OwnerSigns): OwnerState {
  if (record.instance === judge.instance) return "own";
  // A lock that accepts connections is held by a live process, wherever it is.
  if (signs.lock === "held") return "live";
  if (judge.host !== record.host) return "foreign";
  if (record.process === undefined) return signs.lock === "unclear" ? "live" : "dead";
  if (judge.process === undefined) return "foreign";
  if (record.process.boot !== judge.process.boot) return isFromBeforeBoot(signs) ? "dead" : "foreign";
  if (record.process.pidNamespace !== judge.process.pidNamespace) return "foreign";
  return judgeProcess(record.process, signs);
}

/**
 * Returns true if the owner ran on this machine before its last boot. Machines with the same id, such as copies of a disk, differ in
 * the boot too. The owner's abandoned lock, or its record in this state directory, shows that it was this machine.
 */
function isFromBeforeBoot({ isRecordedHere, lock }: OwnerSigns): boolean {
  return lock === "refused" || (lock === "missing" && isRecordedHere);
}

function judgeProcess(process: OwnerProcess, { lock, findProcessState }: OwnerSigns): OwnerState {
  switch (findProcessState(process)) {
    case "running":
      // Its lock was removed.
      return "live";
    case "ended":
      return "dead";
    case "unclear":
      if (lock === "refused") return "dead";
      return lock === "missing" ? "foreign" : "live";
  }
}
