import type { Agent } from "../agents/agent.ts";
import { answerTurn } from "./answer-turn.ts";
import { checkRequest, findAgent, refuseBroken, type CheckedRequest } from "./check-request.ts";
import { checkNesting, OUTERMOST, type Nesting } from "../policy/nesting.ts";
import { trackTurn, type TurnTracker } from "./turn-progress.ts";
import { DEFAULT_TEXT_LIMITS, type TextLimits, withTextLimits } from "../protocol/clean-answers.ts";
import { endFailedSession } from "./end-failed-session.ts";
import { createMemoryRunLog } from "../runs/memory-run-log.ts";
import { createKeyedOrder } from "../queue/keyed-order.ts";
import type { Protocol } from "../protocol/protocol.ts";
import { recordRun } from "../runs/record-run.ts";
import { withChangesAndEgress, withUndelivered, type WatchDirectory } from "./turn-report.ts";
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
import type { WorkspaceRules } from "../policy/workspace-rules.ts";

export type TurnDependencies = {
  /** Those of the moment: what changes here holds from the next turn on */
  readonly agents: () => readonly Agent[];
  readonly runner: Runner;
  readonly protocol: Protocol;
  /** What an agent may do */
  readonly policyOf: (agent: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
  /** Default {@link OUTERMOST} */
  readonly nesting?: Nesting;
  /** Default those of this process alone */
  readonly sessions?: SessionStore;
  /** Default `safe` */
  readonly retry?: RetryMode;
  /** Default 2 s */
  readonly retryDelayMs?: number;
  /** Default {@link DEFAULT_TEXT_LIMITS} */
  readonly textLimits?: TextLimits;
  /** Default none */
  readonly maxTurnsPerMinute?: TurnRateLimits;
  /** Default what the runner's machine bears */
  readonly turnLimits?: TurnLimits;
  /** Whether agents get to see the files that the host runs by itself read-only; default false */
  readonly protectExecutablePaths?: boolean;
  /** How what a turn leaves in its directory is found; default {@link watchExecutablePaths} */
  readonly watch?: WatchDirectory | undefined;
  /** Default one that is forgotten with the process */
  readonly runLog?: RunLog;
};

/** Puts a turn together: checks, what was missed, the queue, the log, retry, textLimits, protocol, from the outside in. */
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
  const protocol = withTextLimits(dependencies.protocol, textLimits);
  const rate = createTurnRate(dependencies.maxTurnsPerMinute ?? NO_LIMITS);
  const queue = createTurnQueue(turnLimits, rate);
  const { sessions: store = createSessionStore(runner) } = dependencies;
  const inOrder = createKeyedOrder();
  const parts = { runner, protocol, nesting, retry, retryDelayMs, protectExecutablePaths };

  async function arrive(asked: TurnRequest): Promise<Arrival> {
    const request = await checkRequest(asked, { ...dependencies, textLimits });
    const { agent, directory, sessionId } = request;
    if (sessionId === undefined) return { request, named: undefined };
    const session = store.find(sessionId, { agent: agent.name, directory });
    await Promise.allSettled([session]);
    return { request, named: { sessionId, session } };
  }

  async function begin({ following, request }: Coming): Promise<Reply> {
    const { directory } = request;
    const agent = request.agent.name;
    const reply = await queue.run({ ...following, agent, session: undefined }, (join) =>
      run({ following, request }, async () => {
        const session = await store.open({ agent, directory });
        // Who follows this turn may know of the session before it is over, and go on with it.
        join(session.id);
        return session;
      }),
    );
    return { ...reply, missed: [] };
  }

  function goOn({ following, request }: Coming, named: Named): Promise<Reply> {
    const agent = request.agent.name;
    return withUndelivered(runLog, { agent, sessionId: named.sessionId }, async () => {
      const session = await named.session;
      refuseBroken(request.agent, session.id);
      return session.expecting(() =>
        queue.run({ ...following, agent, session: session.id }, async () => {
          // A turn before this one may have ended it.
          session.checkOpen();
          return run({ following, request }, () => session);
        }),
      );
    });
  }

  async function run(
    { following, request }: Coming,
    open: () => Session | Promise<Session>,
  ): Promise<Omit<Reply, "missed">> {
    const { directory, promptBytes, sessionId } = request;
    // It may have gone meanwhile, and Kiro would have its default agent answer. To look costs a stat for each agent.
    if (following.hasWaited()) findAgent(dependencies.agents(), request.agent.name);
    const { onPhase, runId: id, signal } = following;
    const subject = { id, agent: request.agent.name, sessionId, isolation: runner.isolation, promptBytes };
    // Around the session's opening: without an engine every turn fails there.
    return recordRun(runLog, subject, async (notes) => {
      const session = await open();
      notes.inSession(session.id);
      following.inSession(session.id);
      return endFailedSession(store, session, () =>
        withChangesAndEgress({ directory, isProtected: protectExecutablePaths, watch: dependencies.watch }, (watched) =>
          answerTurn({ ...parts, ...watched, request, signal, onPhase, session, notes }),
        ),
      );
    });
  }

  return async (asked, hooks = {}) => {
    checkNesting(nesting);
    // A session's turns come to its queue as they were called, however long each of them took to get there.
    const { named, request } = await inOrder(asked.sessionId, arrive(asked));
    const following = trackTurn(hooks, { agent: request.agent.name, sessionId: asked.sessionId });
    return named === undefined ? begin({ following, request }) : goOn({ following, request }, named);
  };
}

type Coming = {
  readonly request: CheckedRequest;
  readonly following: TurnTracker;
};

type Arrival = {
  readonly request: CheckedRequest;
  /** `undefined` for a turn that begins a session */
  readonly named: Named | undefined;
};

type Named = {
  readonly sessionId: string;
  /** Or why there is none */
  readonly session: Promise<Session>;
};

const NO_LIMITS: TurnRateLimits = { all: undefined, agents: new Map() };
