import type { Agent } from "./agent.ts";
import { answerTurn } from "./answer-turn.ts";
import { checkRequest } from "./check-request.ts";
import { OUTERMOST, refuseTooDeep, type Depth } from "./depth.ts";
import type { Health } from "./health.ts";
import { DEFAULT_HYGIENE, type Hygiene } from "./hygiene.ts";
import { keepingSession } from "./keeping-session.ts";
import type { Protocol } from "./protocol.ts";
import { recordingRun, type RunNotes } from "./recording-run.ts";
import { reportingChanges } from "./reporting-changes.ts";
import { reportingEgress } from "./reporting-egress.ts";
import type { RunLog } from "./run-log.ts";
import type { Runner } from "./runner.ts";
import { createSessionBook, type Session } from "./session-book.ts";
import type { Policy } from "./tighter-policy.ts";
import type { Reply, RunTurn } from "./turn.ts";
import { createTurnRate, type TurnRateLimits } from "./turn-rate.ts";
import { withHygiene } from "./with-hygiene.ts";
import type { WorkspaceRules } from "./workspace-rules.ts";

export type TurnDependencies = {
  readonly agents: readonly Agent[];
  readonly runner: Runner;
  readonly protocol: Protocol;
  readonly health: Health;
  /** What an agent may do */
  readonly policyOf: (agent: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
  /** Default: an outermost budgie, whose agents may start none */
  readonly depth?: Depth;
  /** Default 2 s */
  readonly retryDelayMs?: number;
  /** Default {@link DEFAULT_HYGIENE} */
  readonly hygiene?: Hygiene;
  /** Default none */
  readonly maxTurnsPerMinute?: TurnRateLimits;
  /** Whether agents get to see the files that the host runs by itself read-only; default false */
  readonly protectExecutablePaths?: boolean;
  /** Default none */
  readonly runLog?: RunLog | undefined;
};

/** Puts a turn together: checks, the rate, the session's lock, the log, health, retry, hygiene, protocol, from the outside in. */
export function createRunTurn(dependencies: TurnDependencies): RunTurn {
  const {
    depth = OUTERMOST,
    health,
    hygiene = DEFAULT_HYGIENE,
    protectExecutablePaths = false,
    retryDelayMs = 2000,
    runner,
  } = dependencies;
  const protocol = withHygiene(dependencies.protocol, hygiene);
  const rate = createTurnRate(dependencies.maxTurnsPerMinute ?? NO_LIMITS);
  const book = createSessionBook(runner);
  const parts = { runner, protocol, depth, retryDelayMs, protectExecutablePaths };
  return async (asked, hooks = {}) => {
    refuseTooDeep(depth);
    const request = await checkRequest(asked, { ...dependencies, hygiene });
    const { directory, promptBytes } = request;
    const agent = request.agent.name;

    const hold = (session: Session, notes: RunNotes): Promise<Reply> =>
      keepingSession(book, session, () =>
        reportingChanges(directory, (ready) =>
          reportingEgress((tally) => answerTurn({ ...parts, request, hooks, session, notes, tally, ready })),
        ),
      );
    const run = (open: () => Session | Promise<Session>): Promise<Reply> =>
      recordingRun(dependencies.runLog, { agent, isolation: runner.isolation, promptBytes }, (notes) =>
        // Inside the record: without an engine every turn fails here.
        health.record(agent, async () => {
          const session = await open();
          notes.sessionId = session.id;
          return hold(session, notes);
        }),
      );

    if (request.sessionId === undefined) {
      rate.take(agent);
      return run(() => book.open({ agent, directory }));
    }
    const session = book.find(request.sessionId, { agent, directory });
    rate.take(agent, session.id);
    return session.inTurn(() => run(() => session));
  };
}

const NO_LIMITS: TurnRateLimits = { all: undefined, agents: new Map() };
