import { randomUUID } from "node:crypto";
import { BudgieError } from "../../errors.ts";
import type { ProtocolAnswer } from "../../protocol/protocol.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { truncateText, formatCount } from "../../text/truncate-text.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";

/** Sanitizes and truncates the answer as the limits say, and sanitizes a failure, which may quote the agent. */
export function limitText({ textLimits }: Pick<TurnSettings, "textLimits">): Step {
  const { maxAnswerBytes, sanitize } = textLimits;
  return async (turn, next) => {
    try {
      const answer = await next();
      return await truncateAnswer(turn, sanitize ? sanitizeAnswer(turn, answer) : answer, maxAnswerBytes);
    } catch (error) {
      if (sanitize && error instanceof BudgieError) error.message = sanitizeText(error.message);
      throw error;
    }
  };
}

/** Removes invisible and control characters. Throws `AGENT_FAILED` if nothing else is left. */
function sanitizeAnswer({ request: { agent } }: Turn, answer: ProtocolAnswer): ProtocolAnswer {
  const response = sanitizeText(answer.response);
  if (response.trim() !== "" || answer.response === "") {
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
async function truncateAnswer(turn: Turn, answer: ProtocolAnswer, maxBytes: number): Promise<ProtocolAnswer> {
  const bytes = Buffer.byteLength(answer.response);
  if (maxBytes === 0 || bytes <= maxBytes) return answer;
  const sizes = `The answer has ${formatCount(bytes)} bytes and was cut after ${formatCount(maxBytes)}.`;
  const notice = `${sizes} ${formatPlace(turn, await keepWhole(turn, answer))}`;
  return {
    ...answer,
    response: `${truncateText(answer.response, maxBytes)}\n\n[budgie: ${notice}]`,
    warnings: [...answer.warnings, notice],
  };
}

/** Returns the name of the file in the home that holds the whole answer; `undefined` if it could not be written. */
async function keepWhole(
  { request: { agent }, session }: Turn,
  { file, response }: ProtocolAnswer,
): Promise<string | undefined> {
  // An agent that runs elsewhere cannot read the file.
  if (agent.remote !== undefined) return undefined;
  if (file !== undefined) return file;
  const name = `response-${randomUUID()}.txt`;
  // A truncated answer is worth more than none.
  return session.home.appendFile(name, response).then(
    () => name,
    () => undefined,
  );
}

function formatPlace({ request: { directory }, session }: Turn, file: string | undefined): string {
  if (file === undefined) return "The rest could not be kept. Ask the agent for it in parts.";
  const path = `${session.home.paths(directory).home}/${file}`;
  return `All of it is in "${path}" in the session's home: ask the agent there for the rest, in parts.`;
}
