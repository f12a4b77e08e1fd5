import type { OwnerState } from "../owners/owner-state.ts";
import type { GcPolicy } from "./runner.ts";

/** Something of a session or of an owner, that may be garbage. */
export type GcSubject = {
  readonly owner: OwnerState;
  /** When it was made, or last used where that is known */
  readonly usedMs: number;
  /** How long after that its session is kept, for another budgie to go on with; left out, not at all */
  readonly keepMs?: number | undefined;
  /** Whether something of its owner runs that ends with the owner */
  readonly hasLease?: boolean | undefined;
};

// Who cannot be asked has a day to show that it lives.
const FOREIGN_MS = 24 * 60 * 60_000;

/** Tells why a thing must stay, or `undefined` if it may go: only a dead owner's things ever do, and old ones of another machine. */
export function toReasonToKeep(subject: GcSubject, policy: GcPolicy): string | undefined {
  switch (subject.owner) {
    case "own":
      return "this process owns it";
    case "live":
      return "its owner lives";
    case "foreign":
      return toReasonOutOfSight(subject, policy);
    case "dead":
      if (toAgeMs(subject) < (subject.keepMs ?? 0)) return "its session is kept to be gone on with";
      return toAgeMs(subject) < policy.olderThanMs ? "it is younger than asked for" : undefined;
  }
}

function toReasonOutOfSight(subject: GcSubject, { force, olderThanMs }: GcPolicy): string | undefined {
  const { hasLease, keepMs = 0 } = subject;
  const where = "its owner is on another machine or in another pid namespace";
  if (hasLease === true) return `${where}, and runs a turn`;
  if (force === true || toAgeMs(subject) >= Math.max(FOREIGN_MS, keepMs, olderThanMs)) return undefined;
  return `${where}, and cannot be asked; it goes when it is 24 h old, or with --force`;
}

/** A date to come is one of a clock that went wrong, and says nothing of age. */
function toAgeMs({ usedMs }: GcSubject): number {
  return Math.max(0, Date.now() - usedMs);
}
