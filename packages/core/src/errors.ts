import type { EgressReport } from "./egress.ts";

/** An answer that was ready, and that no client is known to have. */
export type MissedAnswer = {
  readonly runId: string;
  readonly response: string;
  /** ISO 8601 */
  readonly when: string;
};

/** Every code a {@link BudgieError} can carry; `docs/errors.md` has a heading for each. */
export const ERROR_CODES = [
  "CONFIG_INVALID",
  "INPUT_INVALID",
  "AGENT_NOT_FOUND",
  "SESSION_NOT_FOUND",
  "SESSION_UNUSABLE",
  "RUN_NOT_FOUND",
  "WORKSPACE_INVALID",
  "RUNNER_UNAVAILABLE",
  "IMAGE_NOT_FOUND",
  "COMMAND_NOT_FOUND",
  "LOGIN_REQUIRED",
  "RATE_LIMITED",
  "TOO_DEEP",
  "QUEUE_FULL",
  "INDETERMINATE",
  "GIT_REDIRECTED",
  "TIMED_OUT",
  "CANCELLED",
  "OUT_OF_MEMORY",
  "DISK_LIMIT",
  "AGENT_CRASHED",
  "AGENT_FAILED",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** The only error budgie throws on purpose: the message says what failed, which thing, and what to do. */
export class BudgieError extends Error {
  override readonly name = "BudgieError";
  readonly code: ErrorCode;
  /** The session that can go on in spite of this failure */
  sessionId: string | undefined;
  /** Directory of the failed turn's call, with links resolved */
  directory: string | undefined;
  /** What the turn that failed had changed of the files that the host runs */
  changedExecutablePaths: readonly string[] = [];
  /** Further warnings about what that turn left in the workspace */
  warnings: readonly string[] = [];
  /** What changed in the workspace during a try that is not repeated for that; `undefined` of other failures */
  changedPaths: readonly string[] | undefined;
  /** What the turn that failed had reached of the network, and what it was refused; `undefined` if nobody watched */
  egress: EgressReport | undefined;
  /** The agent's answer, where the turn failed after it */
  response: string | undefined;
  /** Answers of earlier turns of the session that no client is known to have */
  missed: readonly MissedAnswer[] = [];

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
