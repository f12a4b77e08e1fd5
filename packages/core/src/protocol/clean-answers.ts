import { BudgieError } from "../errors.ts";
import type { Protocol } from "./protocol.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/** A protocol whose answers, and whose failures that quote an agent, hold nothing that hides. */
export function withCleanAnswers(protocol: Protocol): Protocol {
  return async (turn) => {
    try {
      const answer = await protocol(turn);
      const response = sanitizeText(answer.response);
      if (response.trim() === "") throw saidNothing(turn.agent.name);
      return {
        ...answer,
        response,
        denied: answer.denied.map(sanitizeText),
        warnings: answer.warnings.map(sanitizeText),
      };
    } catch (error) {
      if (error instanceof BudgieError) error.message = sanitizeText(error.message);
      throw error;
    }
  };
}

function saidNothing(agent: string): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `The agent "${agent}" answered with invisible characters alone, which were removed. Ask it again.`,
  );
}
