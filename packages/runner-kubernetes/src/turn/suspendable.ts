import type { RunnerSession, SessionId } from "@budgie/core";
import type { Preparable } from "../session/ready-sessions.ts";

/** A session of this process, which another process can resume later. */
export type Suspendable = RunnerSession &
  Preparable & {
    /**
     * Stops its process, packs what it has without the login, and removes its Pod. Removes a session that is not kept, whose process ends with its
     * Pod if it has not when the signal aborts
     */
    readonly suspend: (signal: AbortSignal) => Promise<void>;
  };

/** The session to open: a new one, or one of a dead owner. */
export type Opening = {
  readonly id: SessionId;
  readonly origin: "new" | "kept";
  /** False if it ends with this process even if the runner keeps sessions; default true */
  readonly isKept?: boolean | undefined;
};
