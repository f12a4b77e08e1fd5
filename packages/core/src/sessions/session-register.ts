import type { Isolation, OwnerRecord } from "../owners/owner-record.ts";
import type { StartOptions } from "../runner/runner.ts";
import type { SessionId } from "../runner/session-id.ts";
import type { UsageTotals } from "../usage.ts";

/** The persistent table of sessions and their current owners. */
export type SessionRegister = {
  /** Adds or updates a session; never rejects. */
  save(session: RegisterEntry): Promise<void>;
  find(id: SessionId): Promise<RegisterEntry | undefined>;
  /** Lists all sessions, the last used first. */
  list(): Promise<readonly RegisterEntry[]>;
  /** Transfers ownership atomically: `false` if `fromInstance` no longer owns the session. */
  pass(id: SessionId, fromInstance: string, to: OwnerRecord): Promise<boolean>;
  /** Removes a session; never rejects. */
  remove(id: SessionId): Promise<void>;
};

/** The entry of a session. */
export type RegisterEntry = Pick<StartOptions, "directory" | "workspacePath"> & {
  readonly id: SessionId;
  readonly agent: string;
  readonly isolation: Isolation;
  /** True if a process of the agent has run */
  readonly begun: boolean;
  readonly createdMs: number;
  /** The end of its last turn */
  readonly usedMs: number;
  /** The time that it is kept after its last turn, also without its owner; `undefined` if it ends with its owner */
  readonly keepMs: number | undefined;
  /** `run`: begun by `budgie run`, and not by a server */
  readonly origin?: "run" | undefined;
  /** The last totals of its program; `undefined` if nobody knows, as for a session of an older budgie */
  readonly totals?: UsageTotals | undefined;
  readonly owner: OwnerRecord;
};
