import type { Runner, SessionId } from "@budgie/core";
import type { Access } from "@budgie/core/policy";

/** The parts of the contract that differ by runner. */
export type RunnerSetup = {
  /**
   * Creates a runner with an owner of its own. The runners of a test share engine and state directory, like several budgies of
   * one user, and are disposed of at its end.
   */
  create(options?: KeepingOptions): Promise<RunnerUnderTest>;
  /** Lists what exists of a session, according to the machine or the engine and not a runner */
  leftovers(id: SessionId): Promise<Leftovers>;
  /** The widest access that it gives; default all of the workspace and the network */
  readonly widest?: Access;
  /** Working directory of a process: `paths().home` or `paths().workspace` */
  readonly startsIn: "home" | "workspace";
};

/** The time for which sessions outlive their runner; by default they end with it. */
type KeepingOptions = { readonly keepSessionsMs?: number };

export type RunnerUnderTest = AsyncDisposable & {
  readonly runner: Runner;
  /** A host directory for workspaces, which the agents' user can write to */
  readonly workspaceRoot: string;
  /** Ends the owner like a crash: its lock is free and its process has ended, but its sessions remain */
  die(): Promise<void>;
};

export type Leftovers = {
  /** Names of the processes or containers in which a turn runs */
  readonly running: readonly string[];
  /** Names of everything that is kept between turns */
  readonly stored: readonly string[];
};
