import type { ChangedFiles } from "./changed-files.ts";
import type { EgressMode, EgressReport } from "./egress.ts";
import type { Usage } from "./usage.ts";

/** An answer that no client is known to have received. */
export type UndeliveredAnswer = {
  readonly runId: string;
  readonly response: string;
  /** The end of its turn, in ISO 8601 */
  readonly when: string;
};

/** Every code a {@link BudgieError} can carry; `docs/errors.md` has a heading for each. */
export const ERROR_CODES = [
  "CONFIG_INVALID",
  "STATE_UNUSABLE",
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
  "BUDGET_SPENT",
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

/** The facts about a turn besides its answer. They are part of its reply, or of the error that it failed with. */
export type TurnReport = {
  /** The session's id; in an error only if the session can be resumed */
  readonly sessionId: string;
  /** The directory of the call, with symlinks resolved */
  readonly directory: string;
  /** The changed files that the host runs by itself, such as git hooks */
  readonly changedExecutablePaths: readonly string[];
  /** All changed files that were seen; left out if the directory was not watched */
  readonly changedFiles?: ChangedFiles | undefined;
  /** The network access of the turn, allowed and denied; `undefined` if it was not monitored */
  readonly egress: EgressReport | undefined;
  /** The turn's cost, with that of a failed attempt; `undefined` if the agent program did not report it */
  readonly usage: Usage | undefined;
  /** Undelivered answers of earlier turns of the session */
  readonly missed: readonly UndeliveredAnswer[];
  /** The number of those that a later call brings; left out if there are none */
  readonly moreMissed?: number | undefined;
  readonly warnings: readonly string[];
  /** The turns that ran in the same directory at the same time; left out if there were none */
  readonly others?: readonly OtherRun[] | undefined;
  /** The agent's MCP servers that budgie runs; left out if it runs none */
  readonly mcpServers?: readonly McpServerReport[] | undefined;
  /** The image that files of the directory ask for; left out if they ask for none, or the user's settings name one */
  readonly image?: ProjectImageReport | undefined;
  /** The copy that the agent worked on; left out if it had the directory itself */
  readonly copy?: CopyReport | undefined;
};

/** The copy of a directory in one turn. */
export type CopyReport = {
  /** True if an earlier turn of the session made it, and may have changed it */
  readonly isReused: boolean;
  /** The number of its files, folders and symlinks when it was made */
  readonly entries: number;
  readonly bytes: number;
  /** The entries of the directory that it lacks, by reason. A folder counts once, with all that is in it */
  readonly leftOut: readonly {
    /** The rest of a sentence, such as `git ignores it` */
    readonly why: string;
    readonly count: number;
    /** The first paths, those of folders with a slash at their end */
    readonly paths: readonly string[];
  }[];
  /** Sentences about what else differs from the directory */
  readonly notes: readonly string[];
  /** The paths that it took over from the directory in this turn, and those that both changed, of which it kept its own; left out unless the call asked for it. All are escaped */
  readonly refreshed?: { readonly taken: NamedPaths; readonly kept: NamedPaths } | undefined;
  /** The changes of the session so far that wait for a decision; left out if there are none */
  readonly changes?: CopyChanges | undefined;
};

/** The changes of an agent in its copy. */
export type CopyChanges = {
  readonly changeId: string;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** The first paths that only a person applies */
  readonly guarded: readonly string[];
  /** The first paths that cannot be applied */
  readonly notApplicable: readonly string[];
  /** The first references of the copy's git that name a commit which the directory's did not have; left out for none */
  readonly commits?: readonly string[];
  /** The directory as it is now; left out if it was not compared */
  readonly review?: ChangesReview | undefined;
};

/** The differences between a directory now and a change set that waits to be applied there. All paths are escaped. */
export type ChangesReview = {
  /** The paths of the set that the directory has in another version than the copy was made from */
  readonly conflicts: NamedPaths;
  /** The paths of the directory that changed since the copy was made, in the set or not */
  readonly drift: NamedPaths & {
    /** False if not all files of the copy could be compared */
    readonly isWhole: boolean;
  };
  /** Other sets for the directory that wait too, with the number of paths that both change */
  readonly overlaps: readonly { readonly changeId: string; readonly count: number }[];
  /** The reason why nothing can be applied, such as another directory in its place */
  readonly problem?: string | undefined;
};

/** A number of paths, and the first of them. */
export type NamedPaths = { readonly count: number; readonly paths: readonly string[] };

/** The image that a project's own files ask for, in one turn. */
export type ProjectImageReport = {
  readonly used: "project" | "default";
  /** `allowed`, or the reason why the default image was used, such as `changed since it was allowed` */
  readonly reason: string;
  /** The absolute path of the file that asks for it */
  readonly file: string;
  /** The id of the project's image, if it was used */
  readonly id?: string | undefined;
};

/** A turn that ran at the same time. */
export type OtherRun = { readonly runId: string; readonly agent: string };

/** An MCP server of an agent in one turn. */
export type McpServerReport = {
  readonly name: string;
  readonly state: "not-launched" | "initializing" | "ready" | "error" | "needs-auth";
  /** `sandbox`: in a container of its own; `host`: on this machine, with the user's rights; `address`: elsewhere */
  readonly run: "address" | "host" | "sandbox";
  /** The number of tools that the agent may call */
  readonly tools: number;
  /** The calls of this turn, and those of them that failed */
  readonly calls: number;
  readonly failed: number;
  /** The reason for the state `error`, or for a server that the turn did not get */
  readonly error?: string | undefined;
  /** Its own network; `host` is all that this machine reaches */
  readonly egress: { readonly mode: EgressMode | "host"; readonly hosts: readonly string[] };
  /** True if its tools differ from the approved ones; left out otherwise */
  readonly toolsChanged?: true;
};

/** The facts that are known about a failed turn. */
export type FailureReport = { readonly [Fact in keyof TurnReport]?: TurnReport[Fact] | undefined } & {
  /** The paths that the failed attempt changed, which is why it is not retried */
  readonly changedPaths?: readonly string[] | undefined;
  /** The agent's name, once the turn is in the run log */
  readonly agent?: string | undefined;
  /** The time that the turn took, once it had begun */
  readonly durationMs?: number | undefined;
  /** The agent's answer, if the turn failed after it */
  readonly response?: string | undefined;
};

/** The only error that budgie throws on purpose. Its message says what failed, which thing, and what to do. */
export class BudgieError extends Error {
  override readonly name = "BudgieError";
  readonly code: ErrorCode;
  report: FailureReport;

  constructor(code: ErrorCode, message: string, options: ErrorOptions & { readonly report?: FailureReport } = {}) {
    super(message, options);
    this.code = code;
    this.report = options.report ?? {};
  }
}
