import { randomUUID } from "node:crypto";
import { BudgieError } from "../errors.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import { truncateText, toCountText } from "../text/text.ts";
import type { Protocol, ProtocolAnswer, ProtocolTurn } from "./protocol.ts";

/** The limits on prompts and answers. */
export type TextLimits = {
  /** Removes invisible and control characters from both */
  readonly sanitize: boolean;
  /** The size above which a prompt is rejected; 0 for no limit */
  readonly maxPromptBytes: number;
  /** The size above which an answer is truncated, and kept whole in the session's home; 0 for no limit */
  readonly maxAnswerBytes: number;
};

export const DEFAULT_TEXT_LIMITS: TextLimits = { sanitize: true, maxPromptBytes: 400_000, maxAnswerBytes: 100_000 };

/**
 * Wraps a protocol so that its answers are sanitized and truncated as the limits say, and its failures, which may quote an agent,
 * are sanitized.
 */
export function withTextLimits(protocol: Protocol, { maxAnswerBytes, sanitize }: TextLimits): Protocol {
  return async (turn) => {
    try {
      const answer = await protocol(turn);
      return await truncateAnswer(turn, sanitize ? sanitizeAnswer(turn, answer) : answer, maxAnswerBytes);
    } catch (error) {
      if (sanitize && error instanceof BudgieError) error.message = sanitizeText(error.message);
      throw error;
    }
  };
}

/** Removes invisible and control characters. Throws `AGENT_FAILED` if nothing else is left. */
function sanitizeAnswer({ agent }: ProtocolTurn, answer: ProtocolAnswer): ProtocolAnswer {
  const response = sanitizeText(answer.response);
  if (response.trim() !== "") {
    return {
      ...answer,
      response,
      denied: answer.denied.map(sanitizeText),
      warnings: answer.warnings.map(sanitizeText),
    };
  }
  throw new BudgieError(
    "AGENT_FAILED",
    `The agent "${agent.name}" answered with invisible characters alone, which were removed. Ask it again.`,
  );
}

/** Truncates a longer answer, and adds a note and a warning that name the file with the whole answer. */
async function truncateAnswer(turn: ProtocolTurn, answer: ProtocolAnswer, maxBytes: number): Promise<ProtocolAnswer> {
  const bytes = Buffer.byteLength(answer.response);
  if (maxBytes === 0 || bytes <= maxBytes) return answer;
  const sizes = `The answer has ${toCountText(bytes)} bytes and was cut after ${toCountText(maxBytes)}.`;
  const notice = `${sizes} ${toPlaceText(turn, await keepWhole(turn, answer))}`;
  return {
    ...answer,
    response: `${truncateText(answer.response, maxBytes)}\n\n[budgie: ${notice}]`,
    warnings: [...answer.warnings, notice],
  };
}

/** Returns the name of the file in the home that holds the whole answer; `undefined` if it could not be written. */
async function keepWhole(
  { agent, session }: ProtocolTurn,
  { file, response }: ProtocolAnswer,
): Promise<string | undefined> {
  // An agent that runs elsewhere cannot read the file.
  if (agent.remote !== undefined) return undefined;
  if (file !== undefined) return file;
  const name = `response-${randomUUID()}.txt`;
  // A truncated answer is worth more than none.
  return session.appendFile(name, response).then(
    () => name,
    () => undefined,
  );
}

function toPlaceText({ directory, session }: ProtocolTurn, file: string | undefined): string {
  if (file === undefined) return "The rest could not be kept. Ask the agent for it in parts.";
  const path = `${session.paths(directory).home}/${file}`;
  return `All of it is in "${path}" in the session's home: ask the agent there for the rest, in parts.`;
}
