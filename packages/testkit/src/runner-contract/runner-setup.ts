import type { Runner, SessionId } from "@budgie/core";

/** What the contract must know of a runner, and what differs by runner. */
export type RunnerSetup = {
  /**
   * Creates a runner with an owner of its own. All that one test creates share one place (engine, state directory), as
   * several budgies of one user do, and are disposed at the end of the test.
   */
  create(options?: KeepingOptions): Promise<RunnerUnderTest>;
  /** What exists of a session, asked of the machine or engine and not of a runner */
  leftovers(id: SessionId): Promise<Leftovers>;
  /** Where a process finds itself: `paths().home` or `paths().workspace` */
  readonly startsIn: "home" | "workspace";
};

/** Left out, sessions end with their runner */
type KeepingOptions = { readonly keepSessionsMs?: number };

export type RunnerUnderTest = AsyncDisposable & {
  readonly runner: Runner;
  /** A host directory below which the contract makes workspaces; the agents' user can write there */
  readonly workspaceRoot: string;
  /** Ends the owner as a crash would: its lock is free and its process is not there, its sessions stay */
  die(): Promise<void>;
};

export type Leftovers = {
  /** Names of the processes or containers in which a turn runs */
  readonly running: readonly string[];
  /** Names of all that is kept between turns */
  readonly stored: readonly string[];
};
