import { BudgieError, type MissedAnswer } from "../errors.ts";
import type { RunLog } from "../runs/run-log.ts";

type Caller = { readonly agent: string; readonly sessionId: string };

/** Hands in, with whatever a call on a session comes to, the answers of that session that nobody is known to have. */
export async function reportingMissed<Reply extends { readonly runId: string }>(
  log: RunLog,
  caller: Caller,
  turn: () => Promise<Reply>,
): Promise<Reply & { readonly missed: readonly MissedAnswer[] }> {
  try {
    const reply = await turn();
    // Not before the turn: the answer of one that it waited for may still have been on its way.
    const missed = await log.missed(caller);
    return { ...reply, missed: missed.filter(({ runId }) => runId !== reply.runId) };
  } catch (error) {
    // Who does not know what the session is about has no part in it.
    if (error instanceof BudgieError && error.code !== "INPUT_INVALID") error.missed = await log.missed(caller);
    throw error;
  }
}
