import type { EgressPolicy } from "../egress.ts";
import type { Isolation } from "../owners/owner-record.ts";
import { findSilencedHooks } from "../agents/agent-hooks.ts";
import type { CheckedRequest } from "./check-request.ts";
import { toNestingEnvironment, type Nesting } from "../policy/nesting.ts";
import type { EgressTally } from "./turn-report.ts";
import { findProtectablePaths } from "../changes/find-protectable-paths.ts";
import type { KeptProcess, Protocol } from "../protocol/protocol.ts";
import type { RunNotes } from "../runs/record-run.ts";
import { withRetry, type RetryMode } from "./retry.ts";
import type { AgentProcess, Command, DiskReport, Exit, Runner, StartOptions } from "../runner/runner.ts";
import type { Session } from "../sessions/session.ts";
import type { TurnPhase } from "../queue/turn-queue.ts";
import type { Reply, TurnHooks } from "./turn.ts";
import type { WarmProcesses } from "./warm-processes.ts";
import { UNCHANGED, watchWorkspace, type WorkspaceWatch } from "../changes/watch-workspace.ts";

/** A turn in its session, and its dependencies. */
export type TurnContext = Pick<TurnHooks, "onEgress" | "onOutput"> & {
  readonly request: CheckedRequest;
  readonly signal: AbortSignal | undefined;
  readonly onPhase: (phase: TurnPhase) => void;
  readonly runner: Runner;
  readonly protocol: Protocol;
  readonly session: Session;
  readonly notes: RunNotes;
  readonly tally: EgressTally;
  /** Resolves when the agent's processes may run */
  readonly ready: Promise<unknown>;
  readonly nesting: Nesting;
  readonly retry: RetryMode;
  readonly retryDelayMs: number;
  readonly protectExecutablePaths: boolean;
  /** `undefined` if no process lives longer than its turn */
  readonly warm: WarmProcesses | undefined;
};

/** A reply without the facts that its callers add. */
type BareReply = Omit<Reply, "changedExecutablePaths" | "egress" | "runId">;

/** Runs the agent, and retries it once if that is safe. */
export async function answerTurn(turn: TurnContext): Promise<BareReply> {
  const { notes, onOutput, protocol, runner, session, signal } = turn;
  const { agent, policy, prompt } = turn.request;
  const began = performance.now();
  const isRemote = runner.isolation === "remote";
  const silenced =
    runner.isolation === "container" ? await findSilencedHooks(agent.hooks ?? [], session.directory) : [];
  const started: AgentProcess[] = [];
  const watch = toWatch(turn);
  const ready = Promise.all([turn.ready, watch?.ready]);
  const end = () => Promise.all(started.map((child) => child.stop("shutdown")));
  const answering = withRetry(
    (number) => {
      notes.attempts = number;
      const { timeoutMs } = policy;
      const resume = session.begun;
      return protocol({
        agent,
        session: toHome({ ...turn, ready }, started),
        directory: session.directory,
        prompt,
        resume,
        timeoutMs,
        signal,
        egress: policy.egress.mode,
        onOutput,
        onActivity: (activity) => turn.onPhase({ phase: "running", attempt: number, activity }),
        onMcpCall: notes.addMcpCall,
        mayKeep: turn.warm !== undefined,
      });
    },
    {
      // budgie cannot see what an agent that runs elsewhere did.
      mode: isRemote && turn.retry === "safe" ? "never" : turn.retry,
      delayMs: turn.retryDelayMs,
      signal,
      end,
      findChanges: async () => watch?.findChanges() ?? UNCHANGED,
    },
  );
  const unfollow = followEgress(turn, started);
  const answered = await answering.finally(unfollow).catch(async (error: unknown) => {
    // If an answer is refused after the agent gave it, nothing else ends a process that was to be kept.
    if (turn.warm !== undefined) await end().catch(() => undefined);
    countEgress(turn, started);
    throw error;
  });
  const { response, exit, denied, usage, warnings, kept, mcpServers } = answered;
  countEgress(turn, started, kept);
  const disk = await readDisk(started, kept);
  if (kept !== undefined) turn.warm?.keep(session.id, kept);
  return {
    response,
    sessionId: session.id,
    agent: agent.name,
    directory: session.directory,
    isolation: runner.isolation,
    durationMs: Math.round(performance.now() - began),
    exit,
    retried: notes.attempts > 1,
    denied,
    usage,
    disk,
    // A resumed session's undelivered answers are added later.
    missed: [],
    ...(mcpServers === undefined ? {} : { mcpServers }),
    warnings: [...silenced, ...runner.notices, ...toEgressNotices(runner.isolation, policy.egress), ...warnings],
  };
}

/** Watches the workspace only if a retry depends on it and the agent can write to it. */
function toWatch({ request, retry, runner, session }: TurnContext): WorkspaceWatch | undefined {
  const isReadOnly = runner.isolation === "container" && request.policy.workspace === "ro";
  const isApart = isReadOnly || runner.isolation === "remote";
  return retry === "safe" && !isApart ? watchWorkspace(session.directory) : undefined;
}

function toHome(turn: TurnContext, started: AgentProcess[]): Session["home"] {
  return turn.runner.isolation === "remote" ? beginWithFile(turn) : startWithPolicy(turn, started);
}

/**
 * Wraps the home of a session whose agent runs elsewhere. Such a session has begun once the id of its conversation is written to the home.
 */
function beginWithFile({ notes, onPhase, session }: TurnContext): Session["home"] {
  onPhase({ phase: "running", attempt: notes.attempts });
  return {
    ...session.home,
    async appendFile(name, text) {
      await session.home.appendFile(name, text);
      session.begin();
    },
  };
}

/** Counts the network access of a turn's processes; for a process that lives on, only up to now. */
function countEgress({ tally }: TurnContext, started: readonly AgentProcess[], kept?: KeptProcess): void {
  for (const child of new Set(started)) tally.add(child === kept?.process ? child.takeEgress?.() : child.egress);
}

async function readDisk(started: readonly AgentProcess[], kept?: KeptProcess): Promise<DiskReport | undefined> {
  return kept === undefined ? started.at(-1)?.disk : kept.process.takeDisk?.();
}

/** Wraps the session's home so that every process starts with the policy, and is recorded when it runs. */
function startWithPolicy(turn: TurnContext, started: AgentProcess[]): Session["home"] {
  const { nesting, notes, onPhase, protectExecutablePaths, ready, session } = turn;
  const { egress, limits, workspace } = turn.request.policy;
  return {
    ...session.home,
    async start({ env, ...command }, options) {
      const protectedPaths = protectExecutablePaths ? await findProtectablePaths(options.directory) : [];
      const access = { workspace, egress, limits };
      const marked = { ...command, env: { ...env, ...toNestingEnvironment(nesting) } };
      const asked = { ...options, ready, protectedPaths, access };
      const child = await startOrReuse(turn, marked, asked);
      started.push(child);
      const noteExit = (exit: Exit): void => void (started.at(-1) === child && (notes.exit = exit));
      followExit(child, noteExit);
      session.begin();
      onPhase({ phase: "running", attempt: notes.attempts });
      return child;
    },
  };
}

// One listener for each process: a listener keeps its turn in memory until the process ends.
const exitNotes = new WeakMap<AgentProcess, (exit: Exit) => void>();

/** Calls a function with the exit of a process, instead of the function from the process's last turn. */
function followExit(child: AgentProcess, note: (exit: Exit) => void): void {
  // The caller sees the same rejection; this only avoids an unhandled one.
  if (!exitNotes.has(child)) child.exit.then((exit) => exitNotes.get(child)?.(exit)).catch(() => undefined);
  exitNotes.set(child, note);
}

/**
 * Starts a process, or returns the one that the session's last turn left. A process that gets all its input at its start is never reused.
 */
function startOrReuse(
  { request, session, tally, warm }: TurnContext,
  command: Command,
  options: StartOptions,
): Promise<AgentProcess> {
  if (warm === undefined || options.input !== undefined) return session.home.start(command, options);
  // The network access of a process that has ended covers the time since the last report.
  const onDeparted = (egress: AgentProcess["egress"]): void => tally.add(egress);
  return warm.start(session.home, { agent: request.agent, command, options, onDeparted });
}

const EGRESS_EVERY_MS = 1_000;

/** Reports the last process's network access to the caller each second, until the returned function is called. */
function followEgress({ onEgress, tally }: TurnContext, started: readonly AgentProcess[]): () => void {
  if (onEgress === undefined) return () => undefined;
  const timer = setInterval(() => {
    const since = started.at(-1)?.takeEgress?.();
    // The report at the process's end contains only what came after this one.
    tally.add(since);
    void since?.then(onEgress);
  }, EGRESS_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Lists the notices about a policy in a sandbox. Without a sandbox, the runner has its own notices. */
function toEgressNotices(isolation: Isolation, { mode }: EgressPolicy): readonly string[] {
  return isolation === "container" && mode === "bridge" ? [UNMONITORED] : [];
}

const UNMONITORED =
  'This turn ran with the egress mode "bridge": it could reach all that the engine\'s own network reaches, and its network access was not monitored.';
