import { randomUUID } from "node:crypto";
import type { FailureReport, TurnReport } from "../errors.ts";
import type { GitAccess } from "../git/git-access.ts";
import type { Isolation } from "../owners/owner-record.ts";
import type { OfferedServers, Protocol, ProtocolAnswer } from "../protocol/protocol.ts";
import { TurnEvents, type Phase } from "../protocol/turn-events.ts";
import type { AgentProcess, DiskReport, Runner } from "../runner/runner.ts";
import type { SandboxFacts } from "../runs/run-log.ts";
import type { Session } from "../sessions/session.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { EgressTally } from "./egress-tally.ts";
import type { CheckedRequest, TurnRequest } from "./turn-request.ts";

/** The answer of an agent, and the report of its turn. */
export type Reply = TurnReport & {
  readonly response: string;
  /** The turn's id in the run log */
  readonly runId: string;
  readonly agent: string;
  readonly isolation: Isolation;
  readonly durationMs: number;
  readonly exit: ProtocolAnswer["exit"];
  /** True if the first attempt timed out or crashed, and this is the answer of the second */
  readonly retried: boolean;
  readonly denied: readonly string[];
  /** The turn's disk use; `undefined` if it cannot be measured */
  readonly disk: DiskReport | undefined;
};

/** The ways to follow, change and cancel a turn. */
export type TurnHooks = {
  /** The run's id: a UUID that no other run has; default a new one */
  readonly runId?: string | undefined;
  /** Cancels the turn in any phase */
  readonly signal?: AbortSignal | undefined;
  /** The name that the caller gave itself; default none */
  readonly client?: string | undefined;
  /** Tells what happens during the turn */
  readonly events?: TurnEvents | undefined;
  /** The caller's own steps, which come before the request is checked; default none */
  readonly steps?: readonly Step[] | undefined;
};

/** Runs one turn, or throws a `BudgieError`, whose report has the session's id if the session can be resumed. */
export type RunTurn = (request: TurnRequest, hooks?: TurnHooks) => Promise<Reply>;

/**
 * One part of what happens to a turn. It does its work before, after, or instead of the steps behind it, which `next` runs; a second call of
 * `next` runs them again.
 */
export type Step = (turn: Turn, next: () => Promise<ProtocolAnswer>) => Promise<ProtocolAnswer>;

/** The runner of a turn's agent, and the way to talk to the agent. */
export type Route = { readonly runner: Runner; readonly protocol: Protocol };

/** A call on its way through the steps: what was asked, what is known so far, and what its reply or its error will report. */
export class Turn {
  /** The run's id */
  readonly id: string;
  readonly events: TurnEvents;
  readonly callerSteps: readonly Step[];
  /** The name that the caller gave itself, on one line of at most 100 characters */
  readonly client: string | undefined;
  /** The call as it was made. A step before `checkRequest` may choose another session */
  asked: TurnRequest;
  signal: AbortSignal | undefined;
  /** The facts for the reply, and for the error too */
  readonly report: { -readonly [Fact in keyof FailureReport]: FailureReport[Fact] } = {};

  /** Set by `checkRequest` */
  request!: CheckedRequest;
  /** Set by `checkRequest` */
  route!: Route;
  /** Set by `checkRequest`: the session that the call names, rejected if it cannot be resumed; `undefined` if it names none */
  found: PromiseSettledResult<Session> | undefined;
  /** Set by `openSession` */
  session!: Session;
  /** Set by `findGit`: the git of a worktree or submodule */
  git: GitAccess = {};
  /** Set by `askAgent`, once a process of the agent is started in a sandbox */
  sandbox: SandboxFacts | undefined;
  /** Set by `countUse` */
  tally!: EgressTally;
  /** Set by `countUse`, for a turn that was answered */
  use: { readonly durationMs: number; readonly disk: DiskReport | undefined } = { durationMs: 0, disk: undefined };
  /** The promises that must resolve before a process of the agent runs */
  readonly ready: Promise<unknown>[] = [];
  /** The number of attempts so far */
  attempts = 0;
  /** The processes of all attempts, in the order of their starts */
  readonly processes: AgentProcess[] = [];
  /** The file that shows the agent to its program instead of its own; `undefined` for its own */
  shown: CheckedRequest["agent"]["shown"];
  /** The MCP servers for a program that takes them in its protocol; `undefined` for none */
  offered: OfferedServers | undefined;
  /** True if the turn had to wait in the queue */
  hasWaited = false;

  #phase: Phase["phase"] | undefined;
  #sinceMs = 0;

  constructor(asked: TurnRequest, hooks: TurnHooks) {
    const { client, events = new TurnEvents(), runId = randomUUID(), signal, steps = [] } = hooks;
    this.client = client === undefined ? undefined : toName(client);
    this.id = runId;
    this.asked = asked;
    this.signal = signal;
    this.events = events;
    this.callerSteps = steps;
    events.on("activity", (activity) => this.enter({ phase: "running", attempt: this.attempts, activity }));
  }

  /** The session that the call names, if it can be resumed */
  get resumed(): Session | undefined {
    return this.found?.status === "fulfilled" ? this.found.value : undefined;
  }

  /** True if the agent may change the directory: only a sandbox keeps it from that, and an agent elsewhere does not get the directory */
  get mayWrite(): boolean {
    const { isolation } = this.route.runner;
    return isolation === "none" || (isolation === "container" && this.request.policy.workspace === "rw");
  }

  /** Tells the turn's phase, or a change in it. */
  enter(phase: Phase): void {
    if (phase.phase !== this.#phase) this.#sinceMs = performance.now();
    this.#phase = phase.phase;
    this.hasWaited ||= phase.phase === "waiting";
    const { agent, sessionId } = this.request;
    const known = (this.session as Session | undefined)?.id ?? sessionId;
    this.events.emit("phase", {
      agent: agent.name,
      runId: this.id,
      sessionId: known,
      sinceMs: this.#sinceMs,
      ...phase,
    });
  }

  /** Adds warnings to the report. */
  warn(...warnings: readonly string[]): void {
    this.report.warnings = [...(this.report.warnings ?? []), ...warnings];
  }
}

const LONGEST_NAME = 100;

/** Returns a name on one line, since anyone may have chosen it. */
function toName(text: string): string | undefined {
  const line = sanitizeText(text.slice(0, 2 * LONGEST_NAME))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line === "" ? undefined : line.slice(0, LONGEST_NAME);
}
