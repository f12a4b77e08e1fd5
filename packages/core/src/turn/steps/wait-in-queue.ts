import { createTurnQueue } from "../../queue/turn-queue.ts";
import { createTurnRate } from "../../queue/turn-rate.ts";
import { findAgent } from "../check-call.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/** Waits until the earlier turns of the session have ended and the limits allow the turn (`QUEUE_FULL`, `RATE_LIMITED`). */
export function waitInQueue({ agents, maxTurnsPerMinute, turnLimits }: TurnSettings): Step {
  const queue = createTurnQueue(turnLimits, createTurnRate(maxTurnsPerMinute));
  return async (turn, next) => {
    const { request, resumed: session, signal } = turn;
    const agent = request.agent.name;
    const place = await queue.enter({ agent, signal, session: session?.id, onPhase: (phase) => turn.enter(phase) });
    try {
      // An earlier turn may have ended the session.
      session?.checkOpen();
      // If the agent was removed meanwhile, Kiro's default agent would answer. Checking costs a stat for each agent.
      if (turn.hasWaited) findAgent(agents(), agent);
      // The caller may learn the session's id during this turn, and call again in the session.
      turn.events.once("session", place.join);
      return await next();
    } finally {
      place.leave();
    }
  };
}
