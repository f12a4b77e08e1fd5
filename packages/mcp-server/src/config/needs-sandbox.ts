import { BudgieError } from "@budgie/core";

/** Says that nothing but a sandbox could hold an agent to this. */
export function needsSandbox(option: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `Without --sandbox nothing can hold an agent to ${option}. Add --sandbox, or leave it out.`,
  );
}
