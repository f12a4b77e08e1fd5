import { BudgieError } from "@budgie/core";

/** What a turn failed with; anything but a `BudgieError` fails the test. */
export async function failureOf(turn: Promise<unknown>): Promise<BudgieError> {
  const error: unknown = await turn.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof BudgieError) return error;
  throw new Error("The turn did not fail as a turn does.", { cause: error });
}
