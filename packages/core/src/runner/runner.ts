import type { Access } from "../policy/policy.ts";
import type { Isolation, OwnerRecord } from "../owners/owner-record.ts";
import type { Readable, Writable } from "node:stream";
import type { EgressReport } from "../egress.ts";
import type { OwnerState } from "../owners/owner-state.ts";
import type { SessionId } from "./session-id.ts";
import type { GuardedPath } from "../policy/workspace-rules.ts";

/**
 * A place where agent processes run. It knows processes, not agents, prompts or MCP, so that both ways of talking to an
 * agent program fit: run to the end and collect, and hold a live conversation over stdio.
 */
export interface Runner {
  readonly isolation: Isolation;
  /** What the user should know about this isolation, one sentence each; empty when there is nothing to say */
  readonly notices: readonly string[];
  /** Host paths that would let an agent out, such as the engine's socket: no workspace may hold them */
  readonly guarded: readonly GuardedPath[];
  readonly capacity: Capacity;
  /** Creates the session's home, or opens the one that exists. */
  openSession(id: SessionId): Promise<RunnerSession>;
  /**
   * Takes over the home that a dead owner kept, with all that its agent left there. `SESSION_NOT_FOUND` if it is gone, or not
   * the session's. Of several who may try, the caller sees to it that one does.
   */
  resumeSession(id: SessionId): Promise<RunnerSession>;
  /** Lists the sessions whose homes exist, this process's own and others'. */
  listSessions(): Promise<readonly SessionRecord[]>;
  /** Removes what dead owners left behind, and never what a live one owns. */
  collectGarbage(policy: GcPolicy): Promise<GcReport>;
  /** Stops what runs and removes the homes that this process owns, unless it was made to keep them; safe to call twice. */
  close(): Promise<void>;
}

/** The machine that a runner's processes share, as far as they may use it. */
export type Capacity = {
  readonly cpus: number;
  readonly memoryBytes: number;
};

/** One session's place in a runner: its home, and the processes that run in it. */
export interface RunnerSession {
  readonly id: SessionId;
  /** The paths of a turn on `directory`, as the agent sees them. */
  paths(directory: string): AgentPaths;
  /**
   * Starts a process and resolves once it runs. Rejects with a `BudgieError` when it could not be run
   * (`RUNNER_UNAVAILABLE`, `IMAGE_NOT_FOUND`, `WORKSPACE_INVALID`, `SESSION_UNUSABLE`, `LOGIN_REQUIRED`, `CANCELLED`, `CONFIG_INVALID`); a command that fails is an {@link Exit}.
   */
  start(command: Command, options: StartOptions): Promise<AgentProcess>;
  /** Reads a regular file in the home, at most 4 MiB of it; `undefined` if there is none. Links are not followed. */
  readFile(name: string): Promise<string | undefined>;
  /** Appends to a file in the home, or creates it. Links are not followed. */
  appendFile(name: string, text: string): Promise<void>;
  /** Stops the session's processes and removes its home. */
  remove(): Promise<void>;
}

export type AgentPaths = {
  /** The workspace */
  readonly workspace: string;
  /** The session's home */
  readonly home: string;
};

/** One process to run, not saying where. */
export type Command = {
  readonly argv: readonly [string, ...string[]];
  /** Added to the runner's own small environment; the host's is not passed on */
  readonly env: Readonly<Record<string, string>>;
  /** Host files and folders that the process may read besides its workspace; those that do not exist are left out */
  readonly projections: readonly Projection[];
  /** The login that the process needs in a sandbox; without one `start` rejects with `LOGIN_REQUIRED` */
  readonly login?: "kiro" | undefined;
};

/** A host path that a sandbox shows read-only: at the same absolute path, and below the agent's `$HOME` if that is said. */
export type Projection = {
  /** Absolute path on the host */
  readonly source: string;
  /** Such as `.kiro/steering` */
  readonly home: string | undefined;
};

export type StartOptions = {
  /** The workspace: an absolute path of an existing directory on the host, without links in it */
  readonly directory: string;
  /** What the process may use at most; left out, all that this runner gives. `INPUT_INVALID` where it cannot hold it */
  readonly access?: Access | undefined;
  /** All of the process's stdin, without NUL characters; left out, `AgentProcess.stdin` stays open */
  readonly input?: string | undefined;
  /** Stops the process with the reason `cancelled`, at whatever point of its start or life it is */
  readonly signal?: AbortSignal | undefined;
  /** The process does not run before this resolves; whatever else its start needs is done meanwhile */
  readonly ready?: Promise<unknown> | undefined;
  /** Existing paths below the workspace, relative and without links, that the process may not change; only a sandbox can */
  readonly protectedPaths?: readonly string[] | undefined;
};

/** The disk space that a process used. */
export type DiskReport = {
  /** Size of the session's home */
  readonly homeBytes: number;
  /** Growth since the end of the session's last process */
  readonly grownBytes: number;
};

export interface AgentProcess {
  /** Already ended when `StartOptions.input` was given */
  readonly stdin: Writable;
  /** Must be read: an agent whose output nobody reads comes to a halt */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects for a failing command */
  readonly exit: Promise<Exit>;
  /** What it reached and what it was refused, once it has ended; never rejects; left out where nobody watches */
  readonly egress?: Promise<EgressReport> | undefined;
  /** Disk use once it has ended; never rejects; left out, or `undefined`, where it cannot be measured */
  readonly disk?: Promise<DiskReport | undefined> | undefined;
  /**
   * Asks the process and all its descendants to end, kills them 5 s later, and resolves when they are known to be gone. Where
   * that cannot be known it rejects with `RUNNER_UNAVAILABLE`, and so does `exit`.
   */
  stop(reason: StopReason): Promise<void>;
}

export type StopReason = "timeout" | "cancelled" | "shutdown";

/** How a process ended. Exactly one of `exitCode` and `signal` is set, or neither when the command could not be executed. */
export type Exit = {
  readonly exitCode: number | undefined;
  /** Such as `SIGKILL` */
  readonly signal: string | undefined;
  /** Why, where the runner knows */
  readonly reason: StopReason | "out-of-memory" | "disk-limit" | "command-not-found" | undefined;
  /** True when a process of the turn was killed for memory, even if the agent itself lived on */
  readonly oomKilled: boolean;
};

export type SessionRecord = {
  readonly id: SessionId;
  readonly created: Date;
  /** What holds the session's state: a volume's name or a folder's path */
  readonly home: string;
  readonly owner: OwnerState;
};

export type GcPolicy = {
  /** Age below which even a dead owner's things are kept */
  readonly olderThanMs: number;
  /** Report what would be removed, and remove nothing */
  readonly dryRun: boolean;
  /** Whether the things of owners that cannot be asked go whatever their age; default false, after 24 h */
  readonly force?: boolean | undefined;
  /** Tells who has a session now that outlives its owners; its labels say only who made it. What it throws ends the collection */
  readonly sessions?: ((id: SessionId) => Promise<SessionUse | undefined>) | undefined;
};

/** Who has a session now, and when its last turn ended. */
export type SessionUse = {
  readonly owner: OwnerRecord;
  /** Since the epoch */
  readonly usedMs: number;
  /** How long it is kept after that; `undefined` if that is not known */
  readonly keepMs?: number | undefined;
};

export type GcReport = {
  readonly removed: readonly GcItem[];
  readonly kept: readonly (GcItem & { readonly why: string })[];
  /** Things that should have gone and did not */
  readonly failed: readonly (GcItem & { readonly why: string })[];
};

export type GcItem = {
  readonly kind: "container" | "volume" | "folder";
  readonly name: string;
  readonly session: string | undefined;
};
