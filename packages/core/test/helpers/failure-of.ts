import { expect } from "vitest";
import { BudgieError } from "@budgie/core";

/** Returns the error of a failed turn; anything but a `BudgieError` fails the test. */
export async function failureOf(turn: Promise<unknown>): Promise<BudgieError> {
  const error: unknown = await turn.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof BudgieError) return error;
  throw new Error("The turn did not fail as a turn does.", { cause: error });
}

/** Matches the report of an error whose session cannot be resumed. */
export const WITHOUT_SESSION: unknown = expect.not.objectContaining({ sessionId: expect.any(String) });
