import type { Step } from "../turn.ts";

/** Leaves a process that the agent's protocol kept running to the session's next turn. */
export function keepProcess(): Step {
  return async (turn, next) => {
    const answer = await next().catch(async (error: unknown) => {
      // If an answer is refused after the agent gave it, nothing else ends a process that was to be kept.
      const kept = turn.processes.filter(({ standBy }) => standBy !== undefined);
      await Promise.allSettled(kept.map((child) => child.stop("shutdown")));
      throw error;
    });
    answer.kept?.standBy?.();
    return answer;
  };
}
