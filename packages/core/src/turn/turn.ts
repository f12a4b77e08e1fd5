import type { TurnPhase } from "../queue/turn-queue.ts";
import type { EgressReport } from "../egress.ts";
import type { ProtocolAnswer } from "../protocol/protocol.ts";
import type { MissedAnswer } from "../errors.ts";
import type { Usage } from "../runs/run-log.ts";
import type { Isolation } from "../owners/owner-record.ts";
import type { DiskReport } from "../runner/runner.ts";
import type { Tightening } from "../policy/policy.ts";

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
  /** What the run log calls this turn */
  readonly runId: string;
  readonly sessionId: string;
  readonly agent: string;
  /** The call's directory, with links resolved */
  readonly directory: string;
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
  /** Disk use of the turn; `undefined` if it cannot be measured */
  readonly disk: DiskReport | undefined;
  /** What it cost; `undefined` if its program did not say */
  readonly usage: Usage | undefined;
  /** Answers of earlier turns of the session that no client is known to have */
  readonly missed: readonly MissedAnswer[];
  readonly warnings: readonly string[];
};

/** How a caller follows a turn that runs. */
export type TurnHooks = {
  /** What to call the run: a UUID that no run has had; a new one by default */
  readonly runId?: string | undefined;
  /** Cancels the turn, wherever it is */
  readonly signal?: AbortSignal | undefined;
  /** Told where the turn is, whenever that changes; what it does must be done at once, and it must not throw */
  readonly onProgress?: ((progress: TurnProgress) => void) | undefined;
};

/** Where a turn is. */
export type TurnProgress = TurnPhase & {
  readonly agent: string;
  readonly runId: string;
  /** `undefined` until the session is open */
  readonly sessionId: string | undefined;
  /** When the phase began, wherever in it the turn is now, by `performance.now()` */
  readonly sinceMs: number;
};

/** Runs one turn, or throws a `BudgieError` that carries the session's id if the session can go on. */
export type RunTurn = (request: TurnRequest, hooks?: TurnHooks) => Promise<Reply>;
