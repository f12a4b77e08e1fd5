import type { ProtocolAnswer } from "../../protocol/protocol.ts";
import type { Step, Turn } from "../turn.ts";

/** Runs a turn through these steps, and after the last one calls `end`. */
export function walkSteps(
  steps: readonly Step[],
  turn: Turn,
  end: () => Promise<ProtocolAnswer>,
): Promise<ProtocolAnswer> {
  const runFrom = (index: number): Promise<ProtocolAnswer> => {
    const step = steps[index];
    return step === undefined ? end() : step(turn, () => runFrom(index + 1));
  };
  return runFrom(0);
}

/** Runs the caller's own steps. */
export function callerSteps(): Step {
  return async (turn, next) => walkSteps(turn.callerSteps, turn, next);
}

/** Runs the steps that the program around this package puts before the agent. */
export function agentSteps({ agentSteps: steps }: { readonly agentSteps: readonly Step[] }): Step {
  return async (turn, next) => walkSteps(steps, turn, next);
}
