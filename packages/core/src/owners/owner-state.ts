import type { ProcessFate } from "./owner-process.ts";
import type { OwnerProcess, OwnerRecord } from "./owner-record.ts";

/** How a lock answers: `unclear` for any trouble but a refused connection and a missing file. */
export type LockState = "held" | "refused" | "missing" | "unclear";

/** Who judges. */
export type Judge = {
  readonly instance: string;
  /** All names of this machine */
  readonly hosts: readonly string[];
  readonly process: OwnerProcess | undefined;
};

/** What can be seen of an owner. */
export type OwnerSigns = {
  readonly lock: LockState;
  /** Asked only of processes of the judge's own pid namespace and boot */
  readonly toProcessFate: (process: OwnerProcess) => ProcessFate;
  /** Whether the record was found in the state directory that the lock is to be in */
  readonly isRecordedHere: boolean;
};

/** `own`: the judge; `live`: another that lives; `dead`: certainly nobody any more; `foreign`: out of sight, so age decides. */
export type OwnerState = "own" | "live" | "dead" | "foreign";

/** Judges an owner. "Dead" is certain, and all that is not is `live` or `foreign` (ADR 0003, docs/ownership.md). */
export function toOwnerState(record: OwnerRecord, judge: Judge, signs: OwnerSigns): OwnerState {
  if (record.instance === judge.instance) return "own";
  // Wherever it is: a lock that can be reached is held by a process that lives.
  if (signs.lock === "held") return "live";
  if (!judge.hosts.includes(record.host)) return "foreign";
  if (record.process === undefined) return signs.lock === "unclear" ? "live" : "dead";
  if (judge.process === undefined) return "foreign";
  if (record.process.boot !== judge.process.boot) return isFromBeforeBoot(signs) ? "dead" : "foreign";
  if (record.process.pidNamespace !== judge.process.pidNamespace) return "foreign";
  return toStateOfNeighbour(record.process, signs);
}

/**
 * Two machines with one id, such as copies of one disk, differ in the boot too. The lock that was left in the very place, or the
 * record in this state directory, says that it was this machine.
 */
function isFromBeforeBoot({ isRecordedHere, lock }: OwnerSigns): boolean {
  return lock === "refused" || (lock === "missing" && isRecordedHere);
}

function toStateOfNeighbour(process: OwnerProcess, { lock, toProcessFate }: OwnerSigns): OwnerState {
  switch (toProcessFate(process)) {
    case "there":
      // Somebody removed its lock.
      return "live";
    case "gone":
      return "dead";
    case "unclear":
      if (lock === "refused") return "dead";
      return lock === "missing" ? "foreign" : "live";
  }
}
