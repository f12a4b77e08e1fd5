import type { ErrorCode, UndeliveredAnswer } from "../errors.ts";
import type { EgressReport } from "../egress.ts";
import type { Isolation } from "../owners/owner-record.ts";
import type { Exit } from "../runner/runner.ts";

/** What is known of a turn when it begins. */
export type BegunRun = {
  /** A UUID */
  readonly id: string;
  readonly agent: string;
  /** `undefined` before the turn has one */
  readonly sessionId: string | undefined;
  readonly isolation: Isolation;
  /** Milliseconds since 1970, as is `endedMs` */
  readonly startedMs: number;
  readonly promptBytes: number;
};

/** What is known of a turn when it is over. */
export type FinishedRun = BegunRun & {
  readonly endedMs: number;
  /** `BUG`: an error that budgie did not foresee */
  readonly outcome: "answered" | "BUG" | ErrorCode;
  /** Of the last process; `undefined` if none ran to its end */
  readonly exit: Pick<Exit, "exitCode" | "signal"> | undefined;
  /** Whether the agent ran out of time, whatever came of it */
  readonly timedOut: boolean;
  readonly answer: string | undefined;
  readonly retried: boolean;
  /** The error's message; `undefined` if the turn was answered */
  readonly error: string | undefined;
  /** `undefined` if nobody watched */
  readonly egress: EgressReport | undefined;
  readonly usage: Usage | undefined;
};

/** What a turn cost, as far as its program said. */
export type Usage = { readonly credits: number };

/** One turn as it is remembered: how it went, and never its prompt. */
export type Run = Omit<FinishedRun, "answer" | "endedMs" | "outcome"> & {
  /** `undefined` while it runs, and if it was lost */
  readonly endedMs: number | undefined;
  /** `lost`: the budgie that ran it was gone before it was over */
  readonly outcome: FinishedRun["outcome"] | "lost" | "running";
  readonly answerBytes: number | undefined;
  /** Whether a client has the answer, as far as budgie can see */
  readonly delivered: boolean;
};

export type RunQuery = {
  /** How many at most */
  readonly limit: number;
  /** Left out, all, as with `sessionId` */
  readonly agent?: string | undefined;
  readonly sessionId?: string | undefined;
};

/** Remembers turns. None of these rejects: a turn does not fail because it could not be remembered. */
export type RunLog = {
  /** Notes that a turn has begun, or what has become known of it since. */
  readonly begin: (run: BegunRun) => Promise<void>;
  /** Resolves when the turn and its answer are kept. */
  readonly finish: (run: FinishedRun) => Promise<void>;
  /** Notes that a client has these turns' answers. */
  readonly delivered: (ids: readonly string[]) => Promise<void>;
  /** Notes that a client threw them away: it had given up on them when they came. */
  readonly dropped: (ids: readonly string[]) => Promise<void>;
  /** The answers of a session that no client is known to have, the oldest first, and no more than fit into one message */
  readonly undelivered: (session: {
    readonly agent: string;
    readonly sessionId: string;
  }) => Promise<readonly UndeliveredAnswer[]>;
  /** The last turns, the newest first */
  readonly recent: (query: RunQuery) => Promise<readonly Run[]>;
};
