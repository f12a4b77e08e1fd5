import type { OwnerState } from "../owners/owner-state.ts";
import type { GcPolicy } from "./runner.ts";
import { formatOption } from "../option-name.ts";

/** Something that belongs to a session or an owner, and may be garbage. */
export type GcSubject = {
  readonly owner: OwnerState;
  /** The time of its last use, or of its creation if that is unknown */
  readonly usedMs: number;
  /** The time that its session is kept after that, for another budgie to resume; default 0 */
  readonly keepMs?: number | undefined;
  /** True if a process runs that ends with its owner */
  readonly hasLease?: boolean | undefined;
};

// An owner that cannot be reached is presumed alive for a day.
const FOREIGN_MS = 24 * 60 * 60_000;

/** Returns the reason to keep a thing; `undefined` if it is garbage: a dead owner's, or old and of an owner that cannot be reached. */
export function findReasonToKeep(subject: GcSubject, policy: GcPolicy): string | undefined {
  switch (subject.owner) {
    case "own":
      return "this process owns it";
    case "live":
      return "its owner lives";
    case "foreign":
      return findReasonOutOfSight(subject, policy);
    case "dead":
      if (ageMs(subject) < (subject.keepMs ?? 0)) return "its session is kept to be resumed";
      return ageMs(subject) < policy.olderThanMs ? "it is younger than asked for" : undefined;
  }
}

function findReasonOutOfSight(subject: GcSubject, { force, olderThanMs }: GcPolicy): string | undefined {
  const { hasLease, keepMs = 0 } = subject;
  const where = "its owner is on another machine or in another pid namespace";
  if (hasLease === true) return `${where}, and runs a turn`;
  if (force === true || ageMs(subject) >= Math.max(FOREIGN_MS, keepMs, olderThanMs)) return undefined;
  return `${where}, and cannot be asked; it goes when it is 24 h old, or with ${formatOption("force")}`;
}

/** Counts a time in the future as now: it is from a wrong clock. */
function ageMs({ usedMs }: GcSubject): number {
  return Math.max(0, Date.now() - usedMs);
}
