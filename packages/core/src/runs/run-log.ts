import type { ChangedFiles } from "../changed-files.ts";
import type { ErrorCode, FailureReport, OtherRun, ProjectImageReport } from "../errors.ts";
import type { EgressMode, EgressReport } from "../egress.ts";
import type { Isolation } from "../owners/owner-record.ts";
import type { Access } from "../policy/policy.ts";
import type { Exit } from "../runner/runner.ts";
import type { Usage } from "../usage.ts";
import type { UndeliveredAnswers } from "./undelivered-answers.ts";

/** The facts about a turn when it begins. */
export type BegunRun = Pick<FailureReport, "directory"> & {
  /** A UUID */
  readonly id: string;
  readonly agent: string;
  /** `undefined` before the turn has one */
  readonly sessionId: string | undefined;
  readonly isolation: Isolation;
  /** Milliseconds since 1970, as is `endedMs` */
  readonly startedMs: number;
  readonly promptBytes: number;
  /** The name that the caller gave itself, on one line; left out by older budgies, as is the directory */
  readonly client?: string | undefined;
};

/** The facts about a turn when it has ended. */
export type FinishedRun = BegunRun & {
  readonly endedMs: number;
  /** `BUG`: an error that budgie did not foresee */
  readonly outcome: "answered" | "BUG" | ErrorCode;
  /** The exit of the last process; `undefined` if none ran to its end */
  readonly exit: Pick<Exit, "exitCode" | "signal"> | undefined;
  /** True if the agent exceeded its time limit, whatever the outcome */
  readonly timedOut: boolean;
  readonly answer: string | undefined;
  /** The end of what the agent printed; left out unless the log keeps transcripts */
  readonly transcript?: string | undefined;
  readonly retried: boolean;
  /** The error's message; `undefined` if the turn was answered */
  readonly error: string | undefined;
  /** `undefined` if it was not monitored */
  readonly egress: EgressReport | undefined;
  readonly usage: Usage | undefined;
  /** The first tool calls to MCP servers that budgie ran; left out if there were none */
  readonly mcpCalls?: readonly McpCall[] | undefined;
  /** The turns that ran in the same directory at the same time; left out if there were none */
  readonly others?: readonly OtherRun[] | undefined;
  /** Its rights, and the report of it; left out by older budgies */
  readonly facts?: RunFacts | undefined;
};

/** The rights of a turn, and what its caller was told of it. */
export type RunFacts = {
  /** The access to the directory, and the mode of egress; left out without a sandbox */
  readonly access?: { readonly workspace: Access["workspace"]; readonly egress: EgressMode } | undefined;
  /** Its sandbox, once a process was started in one */
  readonly sandbox?: SandboxFacts | undefined;
  /** The most time that its agent had */
  readonly timeoutMs?: number | undefined;
  readonly image?: ProjectImageReport | undefined;
  /** The changed files that the host runs by itself, as the caller got them */
  readonly changedExecutablePaths: readonly string[];
  /** All changed files that were seen; left out if the directory was not watched, or by older budgies */
  readonly changedFiles?: ChangedFiles | undefined;
  /** The tools that the agent used, as its program names them; left out if it named none */
  readonly tools?: readonly ToolCount[] | undefined;
  /** The tools that the agent requested and was denied */
  readonly denied: readonly string[];
  readonly warnings: readonly string[];
};

/** The image that a turn ran in, and the login that it got. */
export type SandboxFacts = {
  /** A name or an id */
  readonly image?: string | undefined;
  /** The mode of the login, such as `access-token`; left out if its program needs none of budgie's */
  readonly credentials?: string | undefined;
};

/** The number of uses of a tool. */
export type ToolCount = { readonly name: string; readonly count: number };

/** A call of an MCP server's tool, without its arguments and result. */
export type McpCall = {
  readonly server: string;
  readonly tool: string;
  readonly durationMs: number;
  /** `failed`: the tool reported a failure; an error code: the call itself failed */
  readonly outcome: "done" | "failed" | ErrorCode;
};

/** A turn in the log, without its prompt. */
export type Run = Omit<FinishedRun, "answer" | "endedMs" | "outcome" | "transcript"> & {
  /** `undefined` for a running or lost run */
  readonly endedMs: number | undefined;
  /** `lost`: the budgie that ran it ended before the turn did */
  readonly outcome: FinishedRun["outcome"] | "lost" | "running";
  readonly answerBytes: number | undefined;
  /** True if a client has received the answer, as far as budgie knows */
  readonly delivered: boolean;
};

/** The part of a turn that a health report reads. */
export type RunOutcome = Pick<Run, "agent" | "endedMs" | "error" | "outcome" | "startedMs" | "timedOut">;

/** The runs to list: those of an agent, of a session, or in a directory and below it; default all. */
export type RunQuery = {
  readonly [Fact in "agent" | "directory" | "sessionId"]?: BegunRun[Fact] | undefined;
} & {
  /** The maximal number of runs */
  readonly limit: number;
  /** Turns that began at this time or later; default all */
  readonly sinceMs?: number | undefined;
};

export type UndeliveredQuery = {
  readonly agent: string;
  readonly sessionId: string;
  /** The run whose own answer is in the same message; default none */
  readonly except?: string | undefined;
};

/** The log of turns. No function rejects: a turn does not fail because it could not be recorded. */
export type RunLog = {
  /** True if it keeps transcripts; default false */
  readonly keepsTranscripts?: boolean;
  /** Records the start of a turn, or updates what is known about it. */
  readonly begin: (run: BegunRun) => Promise<void>;
  /** Resolves when the turn and its answer are recorded. */
  readonly finish: (run: FinishedRun) => Promise<void>;
  /** Records that a client has received these turns' answers. */
  readonly delivered: (ids: readonly string[]) => Promise<void>;
  /** Records that a client discarded these turns' answers, because it had cancelled its calls. */
  readonly dropped: (ids: readonly string[]) => Promise<void>;
  /** Finds the undelivered answers of a session, the oldest first, and no more than fit into one message. */
  readonly undelivered: (query: UndeliveredQuery) => Promise<UndeliveredAnswers>;
  /** Finds the last turns, the newest first. */
  readonly recent: (query: RunQuery) => Promise<readonly Run[]>;
  /** Reads the outcomes alone of the last turns, at most `limit`, the newest first. */
  readonly outcomes: (limit: number) => Promise<readonly RunOutcome[]>;
};
