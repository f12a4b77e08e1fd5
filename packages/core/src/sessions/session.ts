import { BudgieError } from "../errors.ts";
import type { RunnerSession } from "../runner/runner.ts";
import type { SessionId } from "../runner/session-id.ts";
import type { UsageTotals } from "../usage.ts";
import type { RegisterEntry } from "./session-register.ts";

/** A session of this process: one conversation with one agent about one workspace. */
export type Session = Pick<
  RegisterEntry,
  "agent" | "createdMs" | "directory" | "id" | "isolation" | "totals" | "workspacePath"
> & {
  readonly home: RunnerSession;
  /** True if a process of the agent has run, so that there may be a conversation to resume */
  readonly begun: boolean;
  /** The end of its last turn */
  readonly usedMs: number;
  /** Records that a process of the agent runs. */
  readonly begin: () => void;
  /** Calls a function that runs or queues a turn. The session does not count as idle meanwhile. */
  readonly inUse: <T>(turn: () => Promise<T>) => Promise<T>;
  /** Throws `SESSION_NOT_FOUND` if it was discarded. */
  readonly checkOpen: () => void;
  /** Replaces `totals`, which `noteUse` records */
  readonly count: (totals: UsageTotals) => void;
  /** Records that a turn has ended now. */
  readonly noteUse: () => Promise<void>;
  /** Returns the time since its last running or waiting turn, by a monotonic clock; `undefined` while there is one */
  readonly idleMs: () => number | undefined;
  /** Resolves when it has no running or waiting turn */
  readonly unused: () => Promise<void>;
};

/** The facts about a session before it is opened. */
export type SavedFacts = Pick<
  RegisterEntry,
  "agent" | "begun" | "createdMs" | "directory" | "isolation" | "totals" | "usedMs" | "workspacePath"
>;

type Registrar = {
  readonly isOpen: (id: SessionId) => boolean;
  /** Updates the session in the register */
  readonly note: (session: Session) => Promise<void>;
};

/** Creates the handle of a session whose home exists. */
export function createSession(home: RunnerSession, facts: SavedFacts, { isOpen, note }: Registrar): Session {
  const { id } = home;
  let turns = 0;
  let idleSince = performance.now();
  let waiting: (() => void)[] = [];
  const counted = <T>(task: () => Promise<T>): Promise<T> => {
    turns++;
    return task().finally(() => {
      turns--;
      idleSince = performance.now();
      if (turns > 0) return;
      for (const wake of waiting) wake();
      waiting = [];
    });
  };
  const session = {
    ...facts,
    id,
    home,
    begin() {
      if (session.begun) return;
      session.begun = true;
      // If budgie is killed during this turn, there is a conversation to resume.
      void note(session);
    },
    inUse: counted,
    checkOpen() {
      if (!isOpen(id)) throw sessionNotFound(id);
    },
    count(totals: UsageTotals) {
      session.totals = totals;
    },
    async noteUse() {
      session.usedMs = Date.now();
      if (isOpen(id)) await note(session);
    },
    idleMs: () => (turns === 0 ? performance.now() - idleSince : undefined),
    async unused() {
      while (turns > 0) await new Promise<void>((wake) => waiting.push(wake));
    },
  };
  return session;
}

/** Creates the error for an unknown session, or one that has ended. */
export function sessionNotFound(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `There is no session "${sessionId}" here: sessions end with the budgie that began them, unless it keeps them, and when ` +
      `nobody uses them for too long. Leave "sessionId" out to begin a new one.`,
  );
}
