import { BudgieError, type SessionId } from "@budgie/core";

/** Returns the error for a volume of another program. */
export function notOurs(name: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${name}" is not one that budgie made for a copy. Remove it: "docker volume rm ${name}".`,
  );
}

/** Returns the error for a volume that another container mounts. */
export function inUseError(name: string, why: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${name}" of the session's copy cannot be made anew: ${why}. Remove that container, and ask again.`,
  );
}

/** Returns the error for a copy that somebody removed. */
export function lostError(session: SessionId): BudgieError {
  return new BudgieError("SESSION_UNUSABLE", `The copy of session "${session}" is gone. Begin a new session.`);
}
