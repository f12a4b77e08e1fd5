import { toDurationText } from "../text/duration.ts";
import { BudgieError } from "../errors.ts";
import type { Loosening } from "../policy/policy.ts";

/** What a call hears that asks for more than its agent is allowed. */
export function refuseLoosening({ asked, most, option }: Loosening): BudgieError {
  const [wish, bound] =
    option === "timeout" ? [toDurationText(Number(asked)), toDurationText(Number(most))] : [asked, most];
  return new BudgieError(
    "INPUT_INVALID",
    `The argument "${option}" cannot be "${wish}": this agent is allowed "${bound}", and a call can only ask for less. ` +
      `Leave it out.`,
  );
}
