import type { EgressReport } from "../egress.ts";
import type { TurnReport } from "../errors.ts";
import type { Isolation } from "../owners/owner-record.ts";
import type { Tightening } from "../policy/policy.ts";
import type { OnOutput, ProtocolAnswer } from "../protocol/protocol.ts";
import type { TurnPhase } from "../queue/turn-queue.ts";
import type { DiskReport } from "../runner/runner.ts";
import type { Usage } from "../runs/run-log.ts";

/** A call of an agent. */
export type TurnRequest = {
  /** The agent's name */
  readonly agent: string;
  readonly prompt: string;
  /** The workspace: an absolute path on the host */
  readonly directory: string;
  /** The `sessionId` of an earlier reply, to resume its conversation */
  readonly sessionId?: string | undefined;
  /** The restrictions of this turn in addition to the agent's own */
  readonly tightening?: Tightening | undefined;
};

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
  /** The turn's cost; `undefined` if the agent program did not report it */
  readonly usage: Usage | undefined;
};

/** The ways to follow and cancel a turn. */
export type TurnHooks = {
  /** The run's id: a UUID that no other run has; default a new one */
  readonly runId?: string | undefined;
  /** Cancels the turn in any phase */
  readonly signal?: AbortSignal | undefined;
  /** Called when the turn's phase or position changes; must return at once, and must not throw */
  readonly onProgress?: ((progress: TurnProgress) => void) | undefined;
  /** Called with all that the agent prints, as it arrives */
  readonly onOutput?: OnOutput | undefined;
  /** Called each second of a running turn with the network access since the last call; must not throw */
  readonly onEgress?: ((since: EgressReport) => void) | undefined;
};

/** The phase of a turn. */
export type TurnProgress = TurnPhase & {
  readonly agent: string;
  readonly runId: string;
  /** `undefined` until the session is open */
  readonly sessionId: string | undefined;
  /** The start of the phase, by `performance.now()` */
  readonly sinceMs: number;
};

/** Runs one turn, or throws a `BudgieError`, whose report has the session's id if the session can be resumed. */
export type RunTurn = (request: TurnRequest, hooks?: TurnHooks) => Promise<Reply>;
