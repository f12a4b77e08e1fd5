import type { GitFolders } from "../policy/git-folders.ts";
import type { HiddenPaths } from "../policy/hidden-paths.ts";
import type { Access, CacheTool, Service } from "../policy/policy.ts";
import type { Isolation, OwnerRecord } from "../owners/owner-record.ts";
import type { RequestListener } from "node:http";
import type { Duplex, Readable, Writable } from "node:stream";
import type { EgressReport } from "../egress.ts";
import type { OwnerState } from "../owners/owner-state.ts";
import type { SessionId } from "./session-id.ts";
import type { WorkspaceCopy } from "./workspace-copy.ts";
import type { GuardedPath } from "../policy/workspace-rules.ts";

/**
 * A place where agent processes run. It knows processes, not agents, prompts or MCP, so that both ways of talking to an
 * agent program fit: run to the end and collect, and hold a live conversation over stdio.
 */
export interface Runner {
  readonly isolation: Isolation;
  /** The notices for the user about this isolation, one sentence each; may be empty */
  readonly notices: readonly string[];
  /** Host paths through which an agent could escape, such as the engine's socket: no workspace may hold them */
  readonly guarded: readonly GuardedPath[];
  readonly capacity: Capacity;
  /** The id of the image that processes run in; left out without a sandbox, where programs may change at any time */
  readonly imageId?: string | undefined;
  /** The names of the tools that the image says it has, safe to show; left out without a sandbox */
  readonly imageTools?: readonly string[] | undefined;
  /** Returns the same for another image; empty if there is none. Never rejects; left out without a sandbox */
  readonly toolsOf?: ((image: string) => Promise<readonly string[]>) | undefined;
  /** The sessions and turns that it prepares before a call needs them; left out if it prepares none */
  readonly ahead?: RunnerAhead | undefined;
  /**
   * Creates the session's home, or opens the one that exists. If `isKept` is false, the home ends with its owner even if the runner keeps
   * sessions.
   */
  openSession(id: SessionId, options?: { readonly isKept?: boolean }): Promise<RunnerSession>;
  /**
   * Takes over the home that a dead owner kept, with everything in it. Throws `SESSION_NOT_FOUND` if it was removed, or is not the
   * session's. The caller makes sure that only one process tries.
   */
  resumeSession(id: SessionId): Promise<RunnerSession>;
  /** Lists the sessions whose homes exist, this process's own and others'. */
  listSessions(): Promise<readonly HomeRecord[]>;
  /**
   * Runs a program that only prints, such as its help, without a session; in a sandbox also without a network and a writable folder but
   * `/tmp`. Resolves to its stdout, without the middle of a long one, however it exits; empty if there is no such program. Rejects if it
   * takes more than 20 s, or the sandbox cannot be created.
   */
  print(argv: Command["argv"]): Promise<string>;
  /** Removes garbage of dead owners, and nothing of a live one. */
  collectGarbage(policy: GcPolicy): Promise<GcReport>;
  /** Stops all processes, and removes the homes that this process owns unless they are kept; safe to call twice. */
  close(): Promise<void>;
}

/** The sessions and turns that a runner prepares before a call needs them. They depend on nothing that only that call knows. */
export type RunnerAhead = {
  /** Makes a session in the background, unless there is one; never fails */
  readonly prepare: () => void;
  /** Takes the session that was made, which `openSession` then opens by this id; `undefined` if there is none */
  readonly take: () => Promise<SessionId | undefined> | undefined;
  /** Counts the sessions and turns that are ready */
  readonly count: () => AheadCount;
};

export type AheadCount = { readonly sessions: number; readonly turns: number };

/** The resources that a runner's processes share. */
export type Capacity = {
  readonly cpus: number;
  readonly memoryBytes: number;
};

/** A session in a runner: its home, and the processes that run in it. */
export interface RunnerSession {
  readonly id: SessionId;
  /** Returns the paths of a turn on `directory`, as the agent sees them. */
  paths(directory: string, workspacePath?: WorkspacePath): AgentPaths;
  /**
   * Starts a process and resolves once it runs. Rejects with a `BudgieError` if it could not be run (`RUNNER_UNAVAILABLE`,
   * `IMAGE_NOT_FOUND`, `WORKSPACE_INVALID`, `SESSION_UNUSABLE`, `LOGIN_REQUIRED`, `CANCELLED`, `CONFIG_INVALID`, and `INPUT_INVALID` for
   * access that the runner cannot enforce or beside another process that it cannot run; `SESSION_NOT_FOUND` once the session has ended; where
   * a sandbox waits for a place, `QUEUE_FULL` if none was free in time, and `AGENT_CRASHED`, `DISK_LIMIT`, `OUT_OF_MEMORY` or `TIMED_OUT` if
   * that ended it before the process ran); a command that fails is an {@link Exit}.
   */
  start(command: Command, options: StartOptions): Promise<AgentProcess>;
  /**
   * Reads a regular file in the home by its path, such as `notes/answer.md`, at most 4 MiB of it; `undefined` if there is none. No
   * symlink on the path is followed.
   */
  readFile(path: string): Promise<string | undefined>;
  /** Appends to a file in the home by its path, or creates it and its folders. No symlink on the path is followed. */
  appendFile(path: string, text: string): Promise<void>;
  /**
   * Serves HTTP requests of the session's processes at the returned address, under any egress policy but `bridge`. The service is disposed
   * of with the session, or replaced by another. Left out if the processes cannot reach budgie.
   */
  readonly serve?: ((service: SandboxService) => string) | undefined;
  /** Returns the session's copy of the workspace. Left out if the runner has none, and then refuses access to a copy */
  readonly copy?: (() => WorkspaceCopy) | undefined;
  /**
   * Has `hear` told what a start or a fill of the copy waits for, as a clause such as `no node has room`, until another call replaces it. Left out
   * if nothing of it waits for others
   */
  readonly hearWaits?: ((hear: (why: string) => void) => void) | undefined;
  /** Stops the session's processes and removes its home. */
  remove(): Promise<void>;
}

/** A service for the processes of one session. */
export type SandboxService = AsyncDisposable & { readonly answer: RequestListener };

/** The path of a workspace in a sandbox: its own path on the host. */
export type WorkspacePath = "same";

type AgentPaths = {
  /** The workspace */
  readonly workspace: string;
  /** The session's home */
  readonly home: string;
};

/** A process to run, independent of the runner. */
export type Command = {
  readonly argv: readonly [string, ...string[]];
  /** The environment variables besides the runner's own; the host's are not passed on */
  readonly env: Readonly<Record<string, string>>;
  /** Host files and folders that the process may read besides its workspace; missing ones are ignored unless they are required */
  readonly projections: readonly Projection[];
  /**
   * Files to write into a sandbox's home before the process starts; a runner without a sandbox ignores them, since its processes have the
   * user's home
   */
  readonly home?: readonly HomeFile[] | undefined;
  /** The image of the sandbox; default the runner's. A runner without a sandbox ignores it */
  readonly image?: string | undefined;
  /** True if an image that lacks the agents' programs gets those of the runner's image beside its own files; default false */
  readonly needsPrograms?: boolean | undefined;
  /**
   * The downloads that later sessions of a sandbox find again in a volume; default none. Commands of different `trust` share none. A runner
   * without a sandbox ignores it
   */
  readonly cache?: { readonly tools: readonly CacheTool[]; readonly trust: string } | undefined;
  /**
   * The services of the session's sandboxes, which run from the session's first start with them until its end; default none. A runner
   * without a sandbox ignores them
   */
  readonly services?: readonly Service[] | undefined;
  /** The name of the login that the process needs in a sandbox, such as `kiro`; without that login `start` rejects with `LOGIN_REQUIRED` */
  readonly login?: string | undefined;
  /** True if the process may get only the part of that login that ends by itself; default false */
  readonly isShortLogin?: boolean | undefined;
  /** The paths at which a repository, or an earlier turn, could redefine the agent; default none */
  readonly hidden?: HiddenPaths | undefined;
};

/** A host path that a sandbox shows read-only: at the same absolute path, and below the agent's `$HOME` if `home` is set. */
export type Projection = {
  /** Absolute path on the host */
  readonly source: string;
  /** The path below `$HOME`, such as `.kiro/steering` */
  readonly home: string | undefined;
  /**
   * True if `start` rejects unless a file or folder is there: with `CONFIG_INVALID`, or with `WORKSPACE_INVALID` if a symlink leads to it.
   * Mounts below it are left out. By default symlinks are followed
   */
  readonly isRequired?: boolean | undefined;
};

/**
 * A file for the home of a sandbox, which the agent may change. It is written when a runner first starts a process with it in a session,
 * and again once its content has changed since. Until then the agent's changes, such as a renewed token, stay.
 */
export type HomeFile = {
  /** The path below `$HOME`, such as `.codex/auth.json`; missing folders are created */
  readonly path: string;
  /** The text, or the absolute path of a file on the host, which must exist; its copy does not stay in a kept session's home */
  readonly content: string | { readonly file: string };
};

export type StartOptions = {
  /** The workspace: the absolute path of an existing directory on the host, with symlinks resolved */
  readonly directory: string;
  /** The path at which a sandbox shows the workspace; default a fixed one. `WORKSPACE_INVALID` if the sandbox needs that path itself */
  readonly workspacePath?: WorkspacePath | undefined;
  /** The access of the process; default in a sandbox `DEFAULT_ACCESS`, else the user's. `INPUT_INVALID` if the runner cannot enforce it */
  readonly access?: Access | undefined;
  /** All of the process's stdin, without NUL characters; if left out, `AgentProcess.stdin` stays open */
  readonly input?: string | undefined;
  /** Runs it on a terminal of this size, which is {@link AgentProcess.terminal}; without `input`. Only a runner without `openTerminal` has it */
  readonly terminal?: TerminalSize | undefined;
  /** Stops the process with the reason `cancelled`, also during its start */
  readonly signal?: AbortSignal | undefined;
  /** Resolves when the process may run; the start is prepared meanwhile */
  readonly ready?: Promise<unknown> | undefined;
  /** True if no other process of the session runs beside it, so that a sandbox need not share its network; default false */
  readonly ownNetwork?: boolean | undefined;
  /**
   * Lets the process stand by after its turn ({@link AgentProcess.standBy}). The session's next start gets it if it would make the same
   * process, and passes an equal value here; otherwise it ends first. Left out, the process is always a new one, and ends with its turn
   */
  readonly standbyKey?: unknown;
  /** Existing relative paths in the workspace, without symlinks, that the process may not change; only a sandbox enforces them */
  readonly protectedPaths?: readonly string[] | undefined;
  /** The git folders of a worktree or submodule, which were checked; only a sandbox needs them. Default none */
  readonly git?: GitFolders | undefined;
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
  /** Must be read, because an agent blocks once the pipe is full */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects for a failing command */
  readonly exit: Promise<Exit>;
  /**
   * Reports the network access since the last call, of one that has ended for the last time; never rejects. Resolves to `undefined` if it is
   * not monitored; left out if the runner monitors none
   */
  readonly egress?: (() => Promise<EgressReport | undefined>) | undefined;
  /** Reports the disk use, with the growth since the last call, like `egress`; resolves to `undefined` if it cannot be measured */
  readonly disk?: (() => Promise<DiskReport | undefined>) | undefined;
  /**
   * Runs a program on a terminal of its own, with the process's image, files, network and limits, but the sandbox's own variables only. It
   * ends with the process at the latest, and may begin a moment before its terminal has the size. Left out if the runner has no terminals
   * beside a process
   */
  readonly openTerminal?: ((argv: Command["argv"], size: TerminalSize) => Promise<Terminal>) | undefined;
  /** The terminal on which it runs; its keys are not `stdin`, and what it shows is not `stdout`. Left out unless {@link StartOptions.terminal} was given */
  readonly terminal?: Terminal | undefined;
  /** Leaves it to the session's next start; left out if it ends with its turn */
  readonly standBy?: (() => void) | undefined;
  /**
   * Asks the process and all its descendants to end, kills them 5 s later (2 s for a shutdown), and resolves when they have certainly
   * ended. If that cannot be confirmed, it rejects with `RUNNER_UNAVAILABLE`, and so does `exit`.
   */
  stop(reason: StopReason): Promise<void>;
}

/** A terminal's size in characters. */
export type TerminalSize = { readonly columns: number; readonly rows: number };

/** A terminal in a sandbox. */
export type Terminal = {
  /** Stream of what is typed and printed, which must be read; closed when the program has ended */
  readonly stream: Duplex;
  /** The program's exit code, once the stream is closed; `undefined` if the sandbox ended first. Never rejects */
  readonly exitCode: Promise<number | undefined>;
  /** Changes its size; never rejects */
  resize(size: TerminalSize): Promise<void>;
};

export type StopReason = "timeout" | "cancelled" | "shutdown";

/**
 * The end of a process. Exactly one of `exitCode` and `signal` is set, or neither if the command could not be executed, lives on, or ran
 * elsewhere.
 */
export type Exit = {
  readonly exitCode: number | undefined;
  /** The signal that ended the process, such as `SIGKILL` */
  readonly signal: string | undefined;
  /** The reason, if the runner knows it */
  readonly reason: StopReason | "out-of-memory" | "disk-limit" | "command-not-found" | undefined;
  /** True if the kernel killed a process of the turn for lack of memory, even if the agent itself survived */
  readonly oomKilled: boolean;
};

export type HomeRecord = {
  readonly id: SessionId;
  readonly created: Date;
  /** The volume's name or the folder's path */
  readonly home: string;
  readonly owner: OwnerState;
};

export type GcPolicy = {
  /** The age below which even a dead owner's garbage is kept */
  readonly olderThanMs: number;
  /** Reports what would be removed, and removes nothing */
  readonly dryRun: boolean;
  /** Removes garbage of foreign owners at any age; by default, after 24 h */
  readonly force?: boolean | undefined;
  /** Finds the present owner of a kept session, whose labels name only its first owner. An error ends the collection */
  readonly sessions?: ((id: SessionId) => Promise<LastUse | undefined>) | undefined;
};

/** The present owner of a session, and its last use. */
export type LastUse = {
  readonly owner: OwnerRecord;
  /** The end of its last turn, since the epoch */
  readonly usedMs: number;
  /** The time that it is kept after that; `undefined` if unknown */
  readonly keepMs?: number | undefined;
};

export type GcReport = {
  readonly removed: readonly GcItem[];
  readonly kept: readonly (GcItem & { readonly why: string })[];
  /** Things that could not be removed */
  readonly failed: readonly (GcItem & { readonly why: string })[];
};

export type GcItem = {
  readonly kind: "container" | "volume" | "folder" | "image" | "pod" | "lease";
  readonly name: string;
  readonly session: string | undefined;
};
