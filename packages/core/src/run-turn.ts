import type { Agent } from "./agent.ts";
import { answerTurn } from "./answer-turn.ts";
import { checkRequest } from "./check-request.ts";
import { OUTERMOST, refuseTooDeep, type Depth } from "./depth.ts";
import { DEFAULT_HYGIENE, type Hygiene } from "./hygiene.ts";
import { keepingSession } from "./keeping-session.ts";
import { createMemoryRunLog } from "./memory-run-log.ts";
import type { Protocol } from "./protocol.ts";
import { recordingRun, type RunNotes } from "./recording-run.ts";
import { reportingChanges } from "./reporting-changes.ts";
import { reportingEgress } from "./reporting-egress.ts";
import { reportingMissed } from "./reporting-missed.ts";
import type { RunLog } from "./run-log.ts";
import type { Runner } from "./runner.ts";
import type { Session } from "./session.ts";
import { createSessionBook, type SessionBook } from "./session-book.ts";
import type { Policy } from "./tighter-policy.ts";
import type { Reply, RunTurn } from "./turn.ts";
import { createTurnRate, type TurnRateLimits } from "./turn-rate.ts";
import { withHygiene } from "./with-hygiene.ts";
import type { WorkspaceRules } from "./workspace-rules.ts";

export type TurnDependencies = {
  readonly agents: readonly Agent[];
  readonly runner: Runner;
  readonly protocol: Protocol;
  /** What an agent may do */
  readonly policyOf: (agent: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
  /** Default: an outermost budgie, whose agents may start none */
  readonly depth?: Depth;
  /** Default those of this process alone */
  readonly sessions?: SessionBook;
  /** Default 2 s */
  readonly retryDelayMs?: number;
  /** Default {@link DEFAULT_HYGIENE} */
  readonly hygiene?: Hygiene;
  /** Default none */
  readonly maxTurnsPerMinute?: TurnRateLimits;
  /** Whether agents get to see the files that the host runs by itself read-only; default false */
  readonly protectExecutablePaths?: boolean;
  /** Default one that is forgotten with the process */
  readonly runLog?: RunLog;
};

/** Puts a turn together: checks, the rate, the session's lock, the log, retry, hygiene, protocol, from the outside in. */
export function createRunTurn(dependencies: TurnDependencies): RunTurn {
  const {
    depth = OUTERMOST,
    hygiene = DEFAULT_HYGIENE,
    protectExecutablePaths = false,
    retryDelayMs = 2000,
    runLog = createMemoryRunLog(),
    runner,
  } = dependencies;
  const protocol = withHygiene(dependencies.protocol, hygiene);
  const rate = createTurnRate(dependencies.maxTurnsPerMinute ?? NO_LIMITS);
  const { sessions: book = createSessionBook(runner) } = dependencies;
  const parts = { runner, protocol, depth, retryDelayMs, protectExecutablePaths };
  return async (asked, hooks = {}) => {
    refuseTooDeep(depth);
    const request = await checkRequest(asked, { ...dependencies, hygiene });
    const { directory, promptBytes, sessionId } = request;
    const agent = request.agent.name;

    const hold = (session: Session, notes: RunNotes): Promise<Omit<Reply, "missed" | "runId">> =>
      keepingSession(book, session, () =>
        reportingChanges(directory, (ready) =>
          reportingEgress((tally) => answerTurn({ ...parts, request, hooks, session, notes, tally, ready })),
        ),
      );
    const run = (open: () => Session | Promise<Session>): Promise<Omit<Reply, "missed">> =>
      // Around the session's opening: without an engine every turn fails there.
      recordingRun(runLog, { agent, sessionId, isolation: runner.isolation, promptBytes }, async (notes) => {
        const session = await open();
        notes.inSession(session.id);
        return hold(session, notes);
      });

    if (sessionId === undefined) {
      rate.take(agent);
      return { ...(await run(() => book.open({ agent, directory }))), missed: [] };
    }
    return reportingMissed(runLog, { agent, sessionId }, async () => {
      const session = await book.find(sessionId, { agent, directory });
      rate.take(agent, session.id);
      return session.inTurn(() => run(() => session));
    });
  };
}

const NO_LIMITS: TurnRateLimits = { all: undefined, agents: new Map() };
