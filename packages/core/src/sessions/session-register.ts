import type { Isolation, OwnerRecord } from "../owners/owner-record.ts";
import type { SessionId } from "../runner/session-id.ts";

/** Where it is written down which sessions there are, and who has them now: what outlives a process of budgie. */
export type SessionRegister = {
  /** Writes a session down, or what became of it; never rejects */
  save(session: RegisteredSession): Promise<void>;
  find(id: SessionId): Promise<RegisteredSession | undefined>;
  /** All of them, the last used first */
  list(): Promise<readonly RegisteredSession[]>;
  /** Gives a session to another owner, unless it is not the first one's any more: of several who try, one gets `true`. */
  pass(id: SessionId, fromInstance: string, to: OwnerRecord): Promise<boolean>;
  /** Strikes a session off; never rejects */
  remove(id: SessionId): Promise<void>;
};

/** What is known of a session without a look at its home. */
export type RegisteredSession = {
  readonly id: SessionId;
  readonly agent: string;
  readonly directory: string;
  readonly isolation: Isolation;
  /** Whether a process of the agent has run */
  readonly begun: boolean;
  readonly createdMs: number;
  /** When its last turn ended */
  readonly usedMs: number;
  /** How long it outlives its owner after its last turn; `undefined` if it does not */
  readonly keepMs: number | undefined;
  readonly owner: OwnerRecord;
};
