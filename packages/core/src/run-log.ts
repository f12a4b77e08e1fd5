import type { EgressReport } from "./egress.ts";
import type { ErrorCode } from "./errors.ts";
import type { Exit, Isolation } from "./runner.ts";

/** One turn as it is remembered: how it went, and neither its prompt nor its answer. */
export type Run = {
  /** A UUID */
  readonly id: string;
  readonly agent: string;
  /** `undefined` if the turn failed before it had one */
  readonly sessionId: string | undefined;
  readonly isolation: Isolation;
  /** Milliseconds since 1970, as is `endedMs` */
  readonly startedMs: number;
  readonly endedMs: number;
  /** `BUG`: an error that budgie did not foresee */
  readonly outcome: "answered" | "BUG" | ErrorCode;
  /** Of the last process; `undefined` if none ran to its end */
  readonly exit: Pick<Exit, "exitCode" | "signal"> | undefined;
  readonly promptBytes: number;
  readonly answerBytes: number | undefined;
  readonly retried: boolean;
  /** The error's message; `undefined` if the turn was answered */
  readonly error: string | undefined;
  /** `undefined` if nobody watched */
  readonly egress: EgressReport | undefined;
};

/** Remembers turns. */
export type RunLog = {
  /** Resolves when the run is kept; a turn does not fail because it could not be, so this must not reject. */
  readonly record: (run: Run) => Promise<void>;
};
