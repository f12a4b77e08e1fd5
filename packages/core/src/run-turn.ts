import type { Agent } from "./agent.ts";
import type { EgressReport } from "./egress.ts";
import { toEgressNotices } from "./egress-notices.ts";
import { createEgressTally, type EgressTally } from "./egress-tally.ts";
import { BudgieError, type ErrorCode } from "./errors.ts";
import { findProtectablePaths } from "./executable-paths/find-protectable-paths.ts";
import { watchExecutablePaths } from "./executable-paths/watch-executable-paths.ts";
import type { Health } from "./health.ts";
import { DEFAULT_HYGIENE, type Hygiene } from "./hygiene.ts";
import { parsePrompt } from "./parse-prompt.ts";
import type { Protocol, ProtocolAnswer } from "./protocol.ts";
import { recordingRun, type RunNotes } from "./recording-run.ts";
import { refuseLoosening } from "./refuse-loosening.ts";
import { withRetry } from "./retry.ts";
import type { RunLog } from "./run-log.ts";
import type { Isolation, Runner } from "./runner.ts";
import { createSessionBook, type Session, type SessionBook } from "./session-book.ts";
import { toTighterPolicy, type Policy, type Tightening } from "./tighter-policy.ts";
import { createTurnRate, type TurnRateLimits } from "./turn-rate.ts";
import { withHygiene } from "./with-hygiene.ts";
import { checkWorkspace } from "./workspace.ts";
import type { WorkspaceRules } from "./workspace-rules.ts";

/** What a caller asks for. */
export type TurnRequest = {
  /** An agent's name */
  readonly agent: string;
  readonly prompt: string;
  /** The workspace: an absolute path on the host */
  readonly directory: string;
  /** Of an earlier reply, to go on with its conversation */
  readonly sessionId?: string | undefined;
  /** What this turn shall be allowed less than its agent is */
  readonly tightening?: Tightening | undefined;
};

/** What an agent answered in a turn. */
export type Reply = {
  readonly response: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly isolation: Isolation;
  readonly durationMs: number;
  readonly exit: ProtocolAnswer["exit"];
  /** True when the first try timed out or crashed, and this is the answer of the second */
  readonly retried: boolean;
  readonly denied: readonly string[];
  /** What changed during the turn of the files that the host runs by itself, such as git hooks */
  readonly changedExecutablePaths: readonly string[];
  /** What the turn reached of the network, and what it was refused; `undefined` if nobody watched */
  readonly egress: EgressReport | undefined;
  readonly warnings: readonly string[];
};

/** Runs one turn, or throws a `BudgieError` that carries the session's id if the session can go on. */
export type RunTurn = (request: TurnRequest, signal?: AbortSignal) => Promise<Reply>;

export type TurnDependencies = {
  readonly agents: readonly Agent[];
  readonly runner: Runner;
  readonly protocol: Protocol;
  readonly health: Health;
  /** What an agent may do */
  readonly policyOf: (agent: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
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
  const { agents, health, hygiene = DEFAULT_HYGIENE, policyOf, runner, workspaceRules } = dependencies;
  const protocol = withHygiene(dependencies.protocol, hygiene);
  const rate = createTurnRate(dependencies.maxTurnsPerMinute ?? NO_LIMITS);
  const book = createSessionBook(runner);
  return async (request, signal) => {
    const agent = findAgent(agents, request.agent);
    const prompt = parsePrompt(request.prompt, agent.name, hygiene);
    const policy = toTighterPolicy(policyOf(agent.name), request.tightening ?? {}, refuseLoosening);
    const directory = await checkWorkspace(request.directory, workspaceRules);
    const hold = (session: Session, notes: RunNotes): Promise<Reply> =>
      keepingSession(book, session, () =>
        reportingChanges(directory, (ready) =>
          reportingEgress((tally) =>
            answer({ ...dependencies, protocol, agent, session, policy, prompt, signal, ready, tally, notes }),
          ),
        ),
      );
    const subject = { agent: agent.name, directory };
    const run = (open: () => Session | Promise<Session>): Promise<Reply> => {
      const { isolation } = runner;
      const promptBytes = Buffer.byteLength(request.prompt);
      return recordingRun(dependencies.runLog, { agent: agent.name, isolation, promptBytes }, (notes) =>
        // Inside the record: without an engine every turn fails here.
        health.record(agent.name, async () => {
          const session = await open();
          notes.sessionId = session.id;
          return hold(session, notes);
        }),
      );
    };
    if (request.sessionId === undefined) {
      rate.take(agent.name);
      return run(() => book.open(subject));
    }
    const session = book.find(request.sessionId, subject);
    rate.take(agent.name, session.id);
    return session.inTurn(() => run(() => session));
  };
}

const NO_LIMITS: TurnRateLimits = { all: undefined, agents: new Map() };

type TurnInHand = TurnDependencies & {
  readonly agent: Agent;
  readonly session: Session;
  readonly policy: Policy;
  readonly prompt: string;
  readonly signal: AbortSignal | undefined;
  readonly ready: Promise<unknown>;
  readonly tally: EgressTally;
  readonly notes: RunNotes;
};

/** Tells what a turn, however it ended, did to the files that the host runs by itself. */
async function reportingChanges(
  directory: string,
  turn: (ready: Promise<unknown>) => Promise<Omit<Reply, "changedExecutablePaths">>,
): Promise<Reply> {
  const watch = watchExecutablePaths(directory);
  try {
    const reply = await turn(watch.ready);
    const { changedExecutablePaths, warnings } = await watch.toChanges();
    return { ...reply, changedExecutablePaths, warnings: [...reply.warnings, ...warnings] };
  } catch (error) {
    if (error instanceof BudgieError) error.changedExecutablePaths = (await watch.toChanges()).changedExecutablePaths;
    throw error;
  }
}

/** Tells what a turn, however it ended, reached of the network. */
async function reportingEgress(turn: (tally: EgressTally) => Promise<Answer>): Promise<Answer & Pick<Reply, "egress">> {
  const tally = createEgressTally();
  try {
    const reply = await turn(tally);
    return { ...reply, egress: await tally.total() };
  } catch (error) {
    if (error instanceof BudgieError) error.egress = await tally.total();
    throw error;
  }
}

type Answer = Omit<Reply, "changedExecutablePaths" | "egress">;

async function answer(turn: TurnInHand): Promise<Answer> {
  const { agent, notes, policy, protocol, runner, session, signal } = turn;
  const began = performance.now();
  const { response, exit, denied, warnings } = await withRetry(
    async (number) => {
      notes.tries = number;
      const { prompt } = turn;
      const { timeoutMs } = policy;
      const resume = session.begun;
      return protocol({
        agent,
        session: beginning(turn),
        directory: session.directory,
        prompt,
        resume,
        timeoutMs,
        signal,
      });
    },
    { delayMs: turn.retryDelayMs ?? 2000, signal },
  );
  return {
    response,
    sessionId: session.id,
    agent: agent.name,
    isolation: runner.isolation,
    durationMs: Math.round(performance.now() - began),
    exit,
    retried: notes.tries > 1,
    denied,
    warnings: [...runner.notices, ...toEgressNotices(runner.isolation, policy.egress), ...warnings],
  };
}

/** The session's home, holding every process to the policy, and noting when one of the agent has really begun. */
function beginning(turn: TurnInHand): Session["home"] {
  const { notes, policy, protectExecutablePaths = false, ready, session, tally } = turn;
  const { egress, limits, workspace } = policy;
  return {
    ...session.home,
    async start(command, options) {
      const protectedPaths = protectExecutablePaths ? await findProtectablePaths(options.directory) : [];
      const access = { workspace, egress, limits };
      const child = await session.home.start(command, { ...options, ready, protectedPaths, access });
      tally.add(child.egress);
      // Who runs the turn meets a rejection too.
      child.exit.then((exit) => (notes.exit = exit)).catch(() => undefined);
      session.begun = true;
      return child;
    },
  };
}

/** A session whose first process never ran, or that must not be gone on with, ends with its turn. */
async function keepingSession<T>(book: SessionBook, session: Session, turn: () => Promise<T>): Promise<T> {
  const isFirst = !session.begun;
  try {
    return await turn();
  } catch (error) {
    const isOver = !session.begun || (error instanceof BudgieError && endsSession(error.code, isFirst));
    // The runner still owns what could not be removed, and tries again when it closes.
    if (isOver) await book.discard(session).catch(() => undefined);
    else if (error instanceof BudgieError) error.sessionId = session.id;
    throw error;
  }
}

function endsSession(code: ErrorCode, isFirst: boolean): boolean {
  // Resumed, Kiro would go on with the agent that answered instead, with that one's permissions, and say nothing.
  return code === "SESSION_UNUSABLE" || code === "AGENT_NOT_FOUND" || (code === "COMMAND_NOT_FOUND" && isFirst);
}

function findAgent(agents: readonly Agent[], name: string): Agent {
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const known = agents.map((candidate) => `"${candidate.name}"`).join(", ") || "none";
  throw new BudgieError("AGENT_NOT_FOUND", `There is no agent "${name}". Known agents: ${known}.`);
}
