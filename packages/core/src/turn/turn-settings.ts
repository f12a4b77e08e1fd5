import type { Agent } from "../agents/agent.ts";
import type { ProjectImageReport } from "../errors.ts";
import type { ScopedBudget } from "../budget/budget.ts";
import type { BudgetLedger } from "../budget/budget-ledger.ts";
import type { WatchDirectory } from "../changes/watch-executable-paths.ts";
import { OUTERMOST, type Nesting } from "../policy/nesting.ts";
import type { Policy } from "../policy/policy.ts";
import type { WorkspaceRules } from "../policy/workspace-rules.ts";
import type { Protocol } from "../protocol/protocol.ts";
import { fillLimits, type TurnLimits } from "../queue/turn-limits.ts";
import type { RateLimits } from "../queue/turn-rate.ts";
import type { Command, Runner, WorkspacePath } from "../runner/runner.ts";
import { createMemoryRunLog } from "../runs/memory-run-log.ts";
import type { RunLog } from "../runs/run-log.ts";
import { createSessionStore, type SessionStore } from "../sessions/session-store.ts";
import { DEFAULT_TEXT_LIMITS, type TextLimits } from "./text-limits.ts";
import type { FileTrust } from "../policy/file-trust.ts";
import { createLeftWatch, type LeftWatch } from "./left-changes.ts";
import type { CheckedRequest } from "./turn-request.ts";
import type { Route, Step } from "./turn.ts";
import type { WorkspaceCopies } from "./workspace-copies.ts";

/** The modes of retrying an attempt that timed out or crashed; `safe`: only if it changed nothing in the workspace. */
export const RETRY_MODES = ["safe", "always", "never"] as const;

export type RetryMode = (typeof RETRY_MODES)[number];

/** The part of the user's settings that reaches an agent's processes. */
export type Provided = {
  /** Environment variables, which those of the agent's own command replace */
  readonly env: Readonly<Record<string, string>>;
  /** The image of the sandbox; default that of the agent's command */
  readonly image?: string | undefined;
  /** The image that the directory's own files ask for; default: they ask for none */
  readonly project?: ProjectImageReport | undefined;
  /** Real paths of the host that its processes may read besides; default none */
  readonly mounts?: readonly string[] | undefined;
  /** The cache of its processes' downloads; default none */
  readonly cache?: Command["cache"];
  /** The services beside its processes; default none */
  readonly services?: Command["services"];
  /** The variables of the agent's command that its processes do not get; default none */
  readonly withheld?: readonly string[] | undefined;
  /** The mode of the login in a sandbox, for the run log; default unknown */
  readonly credentials?: string | undefined;
  /** True if its processes get only the part of a login that ends by itself; default false */
  readonly isShortLogin?: boolean | undefined;
  /** The path on the host of a folder of git hooks, which name the run in commits: no process outlasts its turn; default none */
  readonly commitHooks?: string | undefined;
};

/** The limits on what turns use. */
type Budgets = {
  readonly ledger: BudgetLedger;
  /** Returns the budgets that an agent has in a directory */
  readonly budgetsOf: (agent: string, directory: string) => readonly ScopedBudget[];
};

export type TurnDependencies = {
  /** Returns the present agents; changes take effect with the next turn */
  readonly agents: () => readonly Agent[];
  readonly runner: Runner;
  readonly protocol: Protocol;
  /** The protocol of agents with a program of their own; default `protocol` */
  readonly acp?: Protocol;
  /** The runner and the protocol of agents that run elsewhere; without it they cannot be called */
  readonly remote?: Route | undefined;
  /** Returns an agent's policy in a directory, whose symlinks are resolved */
  readonly policyOf: (agent: string, directory: string) => Policy;
  /** Returns the path at which new sessions' sandboxes show a directory; default the runner's */
  readonly workspacePathOf?: (directory: string) => WorkspacePath | undefined;
  /** Returns true for a directory that gets a git of its own as a subfolder of a repository; default none does */
  readonly hasSubfolderGit?: (directory: string) => boolean;
  readonly workspaceRules: WorkspaceRules;
  /** Steps between the attempts of a turn and its agent, such as one that serves MCP servers; default none */
  readonly agentSteps?: readonly Step[];
  /** Default {@link OUTERMOST} */
  readonly nesting?: Nesting;
  /** Returns what the user's settings give an agent in a directory, or throws a `BudgieError`; default nothing */
  readonly providedFor?: (agent: Agent, directory: string, runId: string) => Provided;
  /** Default: a store for this process only */
  readonly sessions?: SessionStore;
  /** Default `safe` */
  readonly retry?: RetryMode;
  /** Tells agents in a sandbox with each prompt what they can do there; default false */
  readonly briefs?: boolean;
  /** Default: 2 s */
  readonly retryDelayMs?: number;
  /** Default {@link DEFAULT_TEXT_LIMITS} */
  readonly textLimits?: TextLimits;
  /** Default: none */
  readonly maxTurnsPerMinute?: RateLimits;
  /** Default: none, and a call cannot ask for one */
  readonly budgets?: Budgets | undefined;
  /** Default: limits for the runner's machine */
  readonly turnLimits?: TurnLimits;
  /** Makes the files that the host runs by itself read-only for agents; default false */
  readonly protectExecutablePaths?: boolean;
  /** Looks after the directories of processes that live on; default: a watch that tells the next turn alone */
  readonly leftWatch?: LeftWatch;
  /** Watches a turn's directory; default `watchExecutablePaths` */
  readonly watch?: WatchDirectory | undefined;
  /** Remembers the directories that agents could write; default: nothing does */
  readonly fileTrust?: Pick<FileTrust, "note"> | undefined;
  /** The copies of sessions; without them no agent works on a copy */
  readonly copies?: WorkspaceCopies | undefined;
  /** Default: a log in memory */
  readonly runLog?: RunLog;
};

/** The dependencies with their defaults. */
export type TurnSettings = ReturnType<typeof fillSettings>;

/** Fills in the defaults. */
export function fillSettings(given: TurnDependencies) {
  const { protocol, runner } = given;
  return {
    acp: protocol,
    agentSteps: [],
    nesting: OUTERMOST,
    workspacePathOf: (): WorkspacePath | undefined => undefined,
    hasSubfolderGit: (): boolean => false,
    providedFor: (): Provided => ({ env: {} }),
    sessions: createSessionStore(runner, undefined, given.remote?.runner),
    retry: "safe" as RetryMode,
    briefs: false,
    retryDelayMs: 2000,
    textLimits: DEFAULT_TEXT_LIMITS,
    maxTurnsPerMinute: NO_LIMITS,
    turnLimits: fillLimits({}, runner.capacity),
    protectExecutablePaths: false,
    leftWatch: createLeftWatch(undefined, given.watch),
    runLog: createMemoryRunLog(),
    ...given,
  };
}

const NO_LIMITS: RateLimits = { all: undefined, agents: new Map() };

/** Returns what the store of sessions knows of a call. */
export function subjectOf({ agent, directory }: CheckedRequest) {
  return { agent: agent.name, directory, isRemote: agent.remote !== undefined };
}
