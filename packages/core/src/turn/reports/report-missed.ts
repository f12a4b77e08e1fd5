import { BudgieError } from "../../errors.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";

/** Reports the undelivered answers of the session that the call names. */
export function reportMissed({ runLog }: Pick<TurnSettings, "runLog">): Step {
  async function report(turn: Turn, sessionId: string, except: string | undefined): Promise<void> {
    const { missed, moreMissed } = await runLog.undelivered({ agent: turn.request.agent.name, sessionId, except });
    turn.report.missed = missed;
    if (moreMissed > 0) turn.report.moreMissed = moreMissed;
  }

  return async (turn, next) => {
    const { sessionId } = turn.request;
    if (sessionId === undefined) return next();
    // Read after the turn, because the answer of a turn that it waited for may still have been on its way.
    try {
      const answer = await next();
      await report(turn, sessionId, turn.id);
      return answer;
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      // The caller named another agent or directory than the session's, so the answers may not be for it.
      if (error.code === "INPUT_INVALID") turn.report.missed = [];
      else await report(turn, sessionId, undefined);
      throw error;
    }
  };
}
