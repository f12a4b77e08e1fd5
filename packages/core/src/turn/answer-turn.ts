import type { EgressPolicy } from "../egress.ts";
import type { Isolation } from "../owners/owner-record.ts";
import { findSilencedHooks } from "../agents/agent-hooks.ts";
import type { CheckedRequest } from "./check-request.ts";
import { toNestingEnvironment, type Nesting } from "../policy/nesting.ts";
import type { EgressTally } from "./turn-report.ts";
import { findProtectablePaths } from "../changes/find-protectable-paths.ts";
import type { Protocol } from "../protocol/protocol.ts";
import type { RunNotes } from "../runs/record-run.ts";
import { withRetry, type RetryMode } from "./retry.ts";
import type { AgentProcess, Runner } from "../runner/runner.ts";
import type { Session } from "../sessions/session.ts";
import type { TurnPhase } from "../queue/turn-queue.ts";
import type { Reply, TurnHooks } from "./turn.ts";
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
};

/** A reply without the facts that its callers add. */
type BareReply = Omit<Reply, "changedExecutablePaths" | "egress" | "runId">;

/** Runs the agent, and retries it once if that is safe. */
export async function answerTurn(turn: TurnContext): Promise<BareReply> {
  const { notes, onOutput, protocol, runner, session, signal } = turn;
  const { agent, policy, prompt } = turn.request;
  const began = performance.now();
  const silenced =
    runner.isolation === "container" ? await findSilencedHooks(agent.hooks ?? [], session.directory) : [];
  const started: AgentProcess[] = [];
  const watch = toWatch(turn);
  const ready = Promise.all([turn.ready, watch?.ready]);
  const { response, exit, denied, usage, warnings } = await withRetry(
    (number) => {
      notes.attempts = number;
      const { timeoutMs } = policy;
      const resume = session.begun;
      return protocol({
        agent,
        session: startWithPolicy({ ...turn, ready }, started),
        directory: session.directory,
        prompt,
        resume,
        timeoutMs,
        signal,
        onOutput,
        onActivity: (activity) => turn.onPhase({ phase: "running", attempt: number, activity }),
      });
    },
    {
      mode: turn.retry,
      delayMs: turn.retryDelayMs,
      signal,
      end: () => Promise.all(started.map((child) => child.stop("shutdown"))),
      findChanges: async () => watch?.findChanges() ?? UNCHANGED,
    },
  );
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
    disk: await started.at(-1)?.disk,
    // Those of a resumed session join the reply later.
    missed: [],
    warnings: [...silenced, ...runner.notices, ...toEgressNotices(runner.isolation, policy.egress), ...warnings],
  };
}

/** Watches the workspace only if a retry depends on it and the agent can write to it. */
function toWatch({ request, retry, runner, session }: TurnContext): WorkspaceWatch | undefined {
  const isReadOnly = runner.isolation === "container" && request.policy.workspace === "ro";
  return retry === "safe" && !isReadOnly ? watchWorkspace(session.directory) : undefined;
}

/** Wraps the session's home so that every process starts with the policy, and is recorded when it runs. */
function startWithPolicy(turn: TurnContext, started: AgentProcess[]): Session["home"] {
  const { nesting, notes, onPhase, protectExecutablePaths, ready, session, tally } = turn;
  const { egress, limits, workspace } = turn.request.policy;
  return {
    ...session.home,
    async start({ env, ...command }, options) {
      const protectedPaths = protectExecutablePaths ? await findProtectablePaths(options.directory) : [];
      const access = { workspace, egress, limits };
      const marked = { ...command, env: { ...env, ...toNestingEnvironment(nesting) } };
      const child = await session.home.start(marked, { ...options, ready, protectedPaths, access });
      started.push(child);
      tally.add(child.egress);
      followEgress(child, turn);
      // The caller sees the same rejection; this only avoids an unhandled one.
      child.exit.then((exit) => (notes.exit = exit)).catch(() => undefined);
      session.begin();
      onPhase({ phase: "running", attempt: notes.attempts });
      return child;
    },
  };
}

const EGRESS_EVERY_MS = 1_000;

/** Tells the caller each second what the network of a process was asked for. */
function followEgress({ exit, takeEgress }: AgentProcess, { onEgress, tally }: TurnContext): void {
  if (onEgress === undefined || takeEgress === undefined) return;
  const timer = setInterval(() => {
    const since = takeEgress();
    // The report of the process's end has only what came after.
    tally.add(since);
    void since.then(onEgress);
  }, EGRESS_EVERY_MS).unref();
  const stop = (): void => clearInterval(timer);
  exit.then(stop, stop);
}

/** Lists the notices about a policy in a sandbox. Without one, the runner has its own notices. */
function toEgressNotices(isolation: Isolation, { mode }: EgressPolicy): readonly string[] {
  return isolation === "container" && mode === "bridge" ? [UNMONITORED] : [];
}

const UNMONITORED =
  'This turn ran with the egress mode "bridge": it could reach all that the engine\'s own network reaches, and its network access was not monitored.';
