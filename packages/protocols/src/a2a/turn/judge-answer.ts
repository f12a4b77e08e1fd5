import { BudgieError } from "@budgie/core";
import type { ProtocolAnswer } from "@budgie/core/protocol";
import type { Answer } from "./answer.ts";
import type { Mask } from "../http/mask.ts";
import { oneLine } from "../http/one-line.ts";

// The agent is not a process here, so it has no exit.
const NO_EXIT = { exitCode: undefined, signal: undefined, reason: undefined, oomKilled: false };

type Asked = {
  readonly who: string;
  readonly warnings: readonly string[];
  /** Removes secrets from an error's text */
  readonly mask: Mask;
};

/**
 * Returns the answer of a task that ended, or that waits for the caller. Throws `LOGIN_REQUIRED` for one that waits for a login, and
 * `AGENT_FAILED` for one that failed, was rejected or canceled, or said nothing.
 */
export function judgeAnswer(answer: Answer, { mask, warnings, who }: Asked): ProtocolAnswer {
  const response = answer.text().trim();
  const state = answer.state();
  const words = response === "" ? "without a reason" : oneLine(mask(response));
  if (state === "auth-required") {
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `The task of ${who} needs a login on its side (${words}). Log in there, and call again with this sessionId.`,
    );
  }
  const failure = FAILURES.get(state);
  if (failure !== undefined) {
    const report = response === "" ? {} : { response: mask(response) };
    throw new BudgieError("AGENT_FAILED", `The task of ${who} ${failure} (${words}).`, { report });
  }
  if (response === "" && state !== "input-required") {
    throw new BudgieError("AGENT_FAILED", `The task of ${who} ended, and said nothing. Ask it again.`);
  }
  return {
    response: response === "" ? "The agent waits for more input, and did not say which." : response,
    file: undefined,
    exit: NO_EXIT,
    denied: [],
    warnings: [...warnings, ...listWarnings(answer)],
  };
}

const FAILURES: ReadonlyMap<string | undefined, string> = new Map([
  ["canceled", "was cancelled on its server"],
  ["failed", "failed"],
  ["rejected", "was rejected by its server"],
]);

function listWarnings(answer: Answer): readonly string[] {
  const state = answer.state();
  const isKnown = state === undefined || state === "completed" || state === "input-required";
  return [
    ...(state === "input-required" ? ["The agent waits for the caller: answer it in the same session."] : []),
    ...(isKnown ? [] : [`The task is in an unknown state, ${JSON.stringify(state.slice(0, 100))}; it may go on.`]),
    ...(answer.files() === 0 ? [] : [`The answer has ${answer.files()} files besides, which budgie does not fetch.`]),
    ...(answer.isTruncated() ? ["The answer was too long, and its end was discarded."] : []),
  ];
}
