import type { EgressPolicy } from "../egress.ts";
import type { Isolation } from "../owners/owner-record.ts";

/** What a user must know of a turn with this policy; that everything is open without a sandbox, the runner says itself. */
export function toEgressNotices(isolation: Isolation, { mode }: EgressPolicy): readonly string[] {
  return isolation === "container" && mode === "bridge" ? [UNWATCHED] : [];
}

const UNWATCHED =
  'This turn ran with the egress mode "bridge": it could reach all that the engine\'s own network reaches, and nobody watched what it did.';
