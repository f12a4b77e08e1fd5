import type { Agent } from "../agents/agent.ts";
import { BudgieError, type ErrorCode } from "../errors.ts";
import { answerTurn } from "./answer-turn.ts";
import type { ExecutableWatch } from "../changes/watch-executable-paths.ts";
import type { Isolation } from "../owners/owner-record.ts";
import { checkRequest, findAgent, refuseBroken, type CheckedRequest } from "./check-request.ts";
import { checkNesting, OUTERMOST, type Nesting } from "../policy/nesting.ts";
import { trackTurn, type TurnTracker } from "./turn-progress.ts";
import { DEFAULT_TEXT_LIMITS, type TextLimits, withTextLimits } from "../protocol/clean-answers.ts";
import { createMemoryRunLog } from "../runs/memory-run-log.ts";
import { createKeyedOrder } from "../queue/keyed-order.ts";
import type { Protocol } from "../protocol/protocol.ts";
import { recordRun } from "../runs/record-run.ts";
import { withChangesAndEgress, withUndelivered, type WatchDirectory, type WatchOptions } from "./turn-report.ts";
import type { RetryMode } from "./retry.ts";
import type { RunLog } from "../runs/run-log.ts";
import type { Runner } from "../runner/runner.ts";
import type { Session } from "../sessions/session.ts";
import { createSessionStore, type SessionStore } from "../sessions/session-store.ts";
import type { Policy } from "../policy/policy.ts";
import type { Reply, RunTurn, TurnRequest } from "./turn.ts";
import { toTurnLimits, type TurnLimits } from "../queue/turn-limits.ts";
import { createTurnQueue } from "../queue/turn-queue.ts";
import { createTurnRate, type TurnRateLimits } from "../queue/turn-rate.ts";
import { toWarm, type WarmProcesses } from "./warm-processes.ts";
import type { WorkspaceRules } from "../policy/workspace-rules.ts";

export type TurnDependencies = {
  /** Returns the present agents; changes take effect with the next turn */
  readonly agents: () => readonly Agent[];
  readonly runner: Runner;
  readonly protocol: Protocol;
  /** The protocol of agents with a program of their own; default `protocol` */
  readonly acp?: Protocol;
  /** The place and the protocol of agents that run elsewhere; without it they cannot be called */
  readonly remote?: { readonly runner: Runner; readonly protocol: Protocol };
  /** Returns an agent's policy */
  readonly policyOf: (agent: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
  /** Default {@link OUTERMOST} */
  readonly nesting?: Nesting;
  /** Default: a store for this process only */
  readonly sessions?: SessionStore;
  /** Default `safe` */
  readonly retry?: RetryMode;
  /** Default: 2 s */
  readonly retryDelayMs?: number;
  /** Default {@link DEFAULT_TEXT_LIMITS} */
  readonly textLimits?: TextLimits;
  /** Default: none */
  readonly maxTurnsPerMinute?: TurnRateLimits;
  /** Default: limits for the runner's machine */
  readonly turnLimits?: TurnLimits;
  /** Makes the files that the host runs by itself read-only for agents; default false */
  readonly protectExecutablePaths?: boolean;
  /** Keeps agents' processes between turns; default they end with their turns */
  readonly warm?: WarmProcesses | undefined;
  /** Watches a turn's directory; default `watchExecutablePaths` */
  readonly watch?: WatchDirectory | undefined;
  /** Default: a log in memory */
  readonly runLog?: RunLog;
};

/**
 * Creates a function that runs turns. Its layers, from the outside in: checks, undelivered answers, queue, log, report, retry, protocol.
 */
export function createRunTurn(dependencies: TurnDependencies): RunTurn {
  const {
    nesting = OUTERMOST,
    textLimits = DEFAULT_TEXT_LIMITS,
    protectExecutablePaths = false,
    retry = "safe",
    retryDelayMs = 2000,
    runLog = createMemoryRunLog(),
    runner,
    turnLimits = toTurnLimits({}, runner.capacity),
  } = dependencies;
  const warm = toWarm(dependencies);
  const placeOf = choosePlace(dependencies, textLimits);
  const rate = createTurnRate(dependencies.maxTurnsPerMinute ?? NO_LIMITS);
  const queue = createTurnQueue(turnLimits, rate);
  const { sessions: store = createOwnStore(dependencies) } = dependencies;
  const inCallOrder = createKeyedOrder();
  const parts = { nesting, retry, retryDelayMs, protectExecutablePaths, warm };

  async function findTurn(asked: TurnRequest): Promise<FoundTurn> {
    const request = await checkRequest(asked, { ...dependencies, textLimits });
    const { sessionId } = request;
    if (sessionId === undefined) return { request, named: undefined };
    const [session] = await Promise.allSettled([store.find(sessionId, toSubject(request))]);
    return { request, named: { sessionId, session } };
  }

  function begin({ tracker, request }: CheckedTurn): Promise<Reply> {
    const agent = request.agent.name;
    return queue.run({ ...tracker, agent, session: undefined }, (join) =>
      run({ tracker, request }, async () => {
        const session = await store.open(toSubject(request));
        // The caller may learn the session's id during this turn, and call again in the session.
        join(session.id);
        return session;
      }),
    );
  }

  function resume({ tracker, request }: CheckedTurn, named: NamedSession): Promise<Reply> {
    const agent = request.agent.name;
    return withUndelivered(runLog, { agent, sessionId: named.sessionId }, () => {
      // Rejected here, so that the error too reports the session's undelivered answers.
      if (named.session.status === "rejected") throw named.session.reason;
      const session = named.session.value;
      refuseBroken(request.agent, session.id);
      return session.inUse(() =>
        queue.run({ ...tracker, agent, session: session.id }, () => {
          // An earlier turn may have ended the session.
          session.checkOpen();
          return run({ tracker, request }, () => session);
        }),
      );
    });
  }

  function run({ tracker, request }: CheckedTurn, open: () => Session | Promise<Session>): Promise<Reply> {
    const { directory, promptBytes, sessionId } = request;
    // If the agent was removed meanwhile, Kiro's default agent would answer. Checking costs a stat for each agent.
    if (tracker.hasWaited()) findAgent(dependencies.agents(), request.agent.name);
    const { onEgress, onOutput, onPhase, runId: id, signal } = tracker;
    const hooks = { onEgress, onOutput, onPhase, signal };
    const place = placeOf(request.agent);
    const { isolation } = place.runner;
    const subject = { id, agent: request.agent.name, sessionId, isolation, promptBytes };
    // Records the opening of the session too, which fails without an engine.
    return recordRun(runLog, subject, async (notes) => {
      const session = await open();
      notes.inSession(session.id);
      tracker.inSession(session.id);
      const between = warm?.between(session.id, request.policy);
      const watch = { ...toWatchOptions(directory, isolation, dependencies), ...between };
      return session.inUse(() =>
        endFailedSession(store, session, () =>
          withChangesAndEgress(watch, (watched) =>
            answerTurn({ ...parts, ...watched, ...hooks, ...place, request, session, notes }),
          ),
        ),
      );
    });
  }

  return async (asked, hooks = {}) => {
    checkNesting(nesting);
    // Queues a session's turns in the order of their calls, although their checks take different times.
    const { named, request } = await inCallOrder(asked.sessionId, findTurn(asked));
    const tracker = trackTurn(hooks, { agent: request.agent.name, sessionId: asked.sessionId });
    return named === undefined ? begin({ tracker, request }) : resume({ tracker, request }, named);
  };
}

function createOwnStore({ remote, runner }: TurnDependencies): SessionStore {
  return createSessionStore(runner, undefined, remote?.runner);
}

/** The place where an agent runs, and the way to talk to it. */
type Place = { readonly runner: Runner; readonly protocol: Protocol };

function choosePlace(
  { protocol, acp = protocol, remote, runner }: Pick<TurnDependencies, "acp" | "protocol" | "remote" | "runner">,
  limits: TextLimits,
): (agent: Agent) => Place {
  const [others, kiro] = [acp, protocol].map((one) => ({ runner, protocol: withTextLimits(one, limits) }));
  const elsewhere = remote && { ...remote, protocol: withTextLimits(remote.protocol, limits) };
  return ({ name, program, remote: server }) => {
    const place = server === undefined ? (program === undefined ? kiro : others) : elsewhere;
    if (place !== undefined) return place;
    throw new TypeError(`The agent "${name}" runs elsewhere, and nothing here can call it.`);
  };
}

function toSubject({ agent, directory }: CheckedRequest) {
  return { agent: agent.name, directory, isRemote: agent.remote !== undefined };
}

/** Returns how to watch a turn's directory. For an agent that runs elsewhere, nothing is watched, since it does not get the directory. */
function toWatchOptions(
  directory: string,
  isolation: Isolation,
  { protectExecutablePaths = false, watch }: Pick<TurnDependencies, "protectExecutablePaths" | "watch">,
): WatchOptions {
  if (isolation !== "remote") return { directory, isProtected: protectExecutablePaths, watch };
  return { directory, isProtected: false, watch: () => UNWATCHED };
}

const UNWATCHED: ExecutableWatch = {
  ready: Promise.resolve(),
  findChanges: async () => ({ changedExecutablePaths: [], gitChanges: [], warnings: [] }),
};

/** Runs a turn, notes its session as used, and discards the session if no process ever started or it cannot safely be resumed. */
async function endFailedSession<T>(store: SessionStore, session: Session, turn: () => Promise<T>): Promise<T> {
  const isFirst = !session.begun;
  try {
    return await turn();
  } catch (error) {
    const isEnded = !session.begun || (error instanceof BudgieError && endsSession(error.code, isFirst));
    const sessionId = isEnded ? undefined : session.id;
    if (error instanceof BudgieError) error.report = { ...error.report, directory: session.directory, sessionId };
    // The runner still owns a home that could not be removed, and retries when it closes.
    if (isEnded) await store.discard(session).catch(() => undefined);
    throw error;
  } finally {
    await session.noteUse();
  }
}

function endsSession(code: ErrorCode, isFirst: boolean): boolean {
  // On resume, Kiro would silently continue with the fallback agent, and with that agent's permissions.
  // A home above its disk limit would fail the next turn too.
  const isUnusable = code === "SESSION_UNUSABLE" || code === "AGENT_NOT_FOUND" || code === "DISK_LIMIT";
  return isUnusable || (code === "COMMAND_NOT_FOUND" && isFirst);
}

type CheckedTurn = {
  readonly request: CheckedRequest;
  readonly tracker: TurnTracker;
};

type FoundTurn = {
  readonly request: CheckedRequest;
  /** The session to resume; `undefined` for a turn that begins one */
  readonly named: NamedSession | undefined;
};

type NamedSession = {
  readonly sessionId: string;
  /** Rejected if it cannot be resumed */
  readonly session: PromiseSettledResult<Session>;
};

const NO_LIMITS: TurnRateLimits = { all: undefined, agents: new Map() };
