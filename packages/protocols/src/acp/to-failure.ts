import { RequestError } from "@agentclientprotocol/sdk";
import { BudgieError, type Exit } from "@budgie/core";
import { findExitFailure, type ExitContext } from "@budgie/core/protocol";
import { EndedError } from "./conversation/connection.ts";
import { oneLine } from "./answer/one-line.ts";
import { CODES, formatRequestError } from "./conversation/format-request-error.ts";

/** Translates an error of the agent or its program. Returns any other error, such as budgie's own, unchanged. */
export function toFailure(error: unknown, turn: FailureContext): unknown {
  // Its caller knows the limit of the turn, not what that left for the last request.
  if (isTimeout(error) && performance.now() + EARLY_MS >= turn.deadline)
    return findExitFailure({ reason: "timeout" }, turn);
  if (error instanceof EndedError) return toEndFailure(error, turn);
  if (!(error instanceof RequestError)) return error;
  const reason = formatRequestError(error);
  if (error.code === CODES.authRequired) {
    return new BudgieError(
      "LOGIN_REQUIRED",
      `The program "${turn.program}" of the agent "${turn.agent}" has no login (${reason}). Pass on its key or its login file.`,
      { cause: error },
    );
  }
  return new BudgieError("AGENT_FAILED", `The agent "${turn.agent}" failed (${reason}).`, { cause: error });
}

// A timer may fire before the fraction of its last millisecond has passed.
const EARLY_MS = 2;

type FailureContext = ExitContext & {
  /** By `performance.now()` */
  readonly deadline: number;
};

function isTimeout(error: unknown): boolean {
  return error instanceof BudgieError && error.code === "TIMED_OUT";
}

function toEndFailure(ended: EndedError, turn: ExitContext): BudgieError {
  const { exit, stderr } = ended;
  const { agent, program } = turn;
  const known = findExitFailure(exit, turn);
  if (known !== undefined) return known;
  const evidence = lastWords(stderr);
  return new BudgieError(
    "AGENT_CRASHED",
    `The program "${program}" of the agent "${agent}" ended before it answered, with ${formatExit(exit)}: ${evidence}`,
    { cause: ended },
  );
}

function formatExit({ exitCode, signal }: Exit): string {
  if (signal !== undefined) return signal;
  return exitCode === undefined ? "an unknown exit code" : `exit code ${exitCode}`;
}

const LONGEST_EVIDENCE = 1000;

function lastWords(stderr: string): string {
  const text = oneLine(stderr);
  return text === "" ? "it said nothing" : text.slice(-LONGEST_EVIDENCE);
}
