import { BudgieError, type Reply, type RunTurn } from "@budgie/core";
import type { ProtocolAnswer } from "@budgie/core/protocol";
import type { Session } from "@budgie/core/sessions";
import { Turn, type Step } from "@budgie/core/turn";

/** Returns turns that go through one step, and then run by `runTurn`. */
export function throughStep(step: Step, runTurn: RunTurn): RunTurn {
  return async (request, hooks = {}) => {
    const turn = new Turn(request, hooks);
    const { events, id: runId, report } = turn;
    const answer = await step(turn, async () => {
      try {
        const reply = await runTurn(turn.asked, { events, runId, signal: turn.signal });
        turn.session = { id: reply.sessionId } as Session;
        turn.warn(...(reply.warnings ?? []));
        return reply as unknown as ProtocolAnswer;
      } catch (error) {
        if (error instanceof BudgieError) Object.assign(report, error.report);
        throw error;
      }
    });
    return { ...(answer as object), ...report, sessionId: turn.session.id } as unknown as Reply;
  };
}
