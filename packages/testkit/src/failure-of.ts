import { BudgieError } from "@budgie/core";

/** Returns the error of a turn that must fail. Rejects for an answer, and for any other error. */
export async function failureOf(turn: Promise<unknown>): Promise<BudgieError> {
  const error = await turn.then(
    (reply) => new Error(`Expected a failure, got ${JSON.stringify(reply)}.`),
    (failure: unknown) => failure,
  );
  if (error instanceof BudgieError) return error;
  throw error;
}
