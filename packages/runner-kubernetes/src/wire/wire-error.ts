import { BudgieError } from "@budgie/core";

/** Returns the error of a peer that broke the rules of the wire. The text is budgie's own, as in "it sent a frame of no known kind". */
export function wireError(fault: string, options: ErrorOptions = {}): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The connection to the Pod was ended: its other end broke the rules, ${fault}. Begin a new session.`,
    options,
  );
}
