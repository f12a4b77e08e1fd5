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
import type { Reply } from "./turn.ts";
import { UNCHANGED, watchWorkspace, type WorkspaceWatch } from "../changes/watch-workspace.ts";

/** A turn in its session, with all that it is made of. */
export type TurnContext = {
  readonly request: CheckedRequest;
  readonly signal: AbortSignal | undefined;
  readonly onPhase: (phase: TurnPhase) => void;
  readonly runner: Runner;
  readonly protocol: Protocol;
  readonly session: Session;
  readonly notes: RunNotes;
  readonly tally: EgressTally;
  /** No process of the agent runs before this resolves */
  readonly ready: Promise<unknown>;
  readonly nesting: Nesting;
  readonly retry: RetryMode;
  readonly retryDelayMs: number;
  readonly protectExecutablePaths: boolean;
};

/** A reply without what is only known around it. */
type BareReply = Omit<Reply, "changedExecutablePaths" | "egress" | "missed" | "runId">;

/** Has the agent answer, with a second try where that can help. */
export async function answerTurn(turn: TurnContext): Promise<BareReply> {
  const { notes, protocol, runner, session, signal } = turn;
  const { agent, policy, prompt } = turn.request;
  const began = performance.now();
  const silenced =
    runner.isolation === "container" ? await findSilencedHooks(agent.hooks ?? [], session.directory) : [];
  const started: AgentProcess[] = [];
  const watch = toWatch(turn);
  const ready = Promise.all([turn.ready, watch?.ready]);
  const { response, exit, denied, usage, warnings } = await withRetry(
    async (number) => {
      notes.tries = number;
      const { timeoutMs } = policy;
      const resume = session.begun;
      return protocol({
        agent,
        session: beginning({ ...turn, ready }, started),
        directory: session.directory,
        prompt,
        resume,
        timeoutMs,
        signal,
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
    retried: notes.tries > 1,
    denied,
    usage,
    disk: await started.at(-1)?.disk,
    warnings: [...silenced, ...runner.notices, ...toEgressNotices(runner.isolation, policy.egress), ...warnings],
  };
}

/** Nobody needs to know what changed where no second try depends on it, or where the agent cannot write. */
function toWatch({ request, retry, runner, session }: TurnContext): WorkspaceWatch | undefined {
  const isReadOnly = runner.isolation === "container" && request.policy.workspace === "ro";
  return retry === "safe" && !isReadOnly ? watchWorkspace(session.directory) : undefined;
}

/** The session's home, holding every process to the policy, and noting when one of the agent has really begun. */
function beginning(turn: TurnContext, started: AgentProcess[]): Session["home"] {
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
      // Who runs the turn meets a rejection too.
      child.exit.then((exit) => (notes.exit = exit)).catch(() => undefined);
      session.begin();
      onPhase({ phase: "running", tries: notes.tries });
      return child;
    },
  };
}

/** What a user must know of a turn with this policy; that everything is open without a sandbox, the runner says itself. */
function toEgressNotices(isolation: Isolation, { mode }: EgressPolicy): readonly string[] {
  return isolation === "container" && mode === "bridge" ? [UNWATCHED] : [];
}

const UNWATCHED =
  'This turn ran with the egress mode "bridge": it could reach all that the engine\'s own network reaches, and nobody watched what it did.';
