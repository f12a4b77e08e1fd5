import { checkNesting } from "../../policy/nesting.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/** Refuses the turn in a budgie that an agent of another budgie started (`TOO_DEEP`). */
export function refuseNesting({ nesting }: Pick<TurnSettings, "nesting">): Step {
  return async (_turn, next) => {
    checkNesting(nesting);
    return next();
  };
}
