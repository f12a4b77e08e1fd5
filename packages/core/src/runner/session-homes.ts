import type { Writable } from "node:stream";
import type { SessionRecord } from "./runner.ts";
import type { SessionId } from "./session-id.ts";

/** The homes of sessions in one kind of place, whoever owns them: for who looks after them by hand. */
export interface SessionHomes {
  list(): Promise<readonly SessionRecord[]>;
  /** Ends what runs in a session and removes all of it; to be asked only for one that no living process owns. */
  remove(id: SessionId): Promise<void>;
  /**
   * Writes a home as a tar, and ends `to`; it is only read, and may be in use. Nothing that is a login of the host's goes along.
   * Answers with what was left out, one sentence each; `SESSION_NOT_FOUND` if there is no such home.
   */
  pack(id: SessionId, to: Writable, signal: AbortSignal): Promise<readonly string[]>;
}
