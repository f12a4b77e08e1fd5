import { refuseBroken } from "../check-call.ts";
import type { Step } from "../turn.ts";

/** Throws if the session that the call names cannot be resumed. Until the turn ends, it does not count as idle. */
export function resumeSession(): Step {
  return async (turn, next) => {
    const { found } = turn;
    if (found === undefined) return next();
    if (found.status === "rejected") throw found.reason;
    refuseBroken(turn.request.agent, found.value.id);
    return found.value.inUse(next);
  };
}
