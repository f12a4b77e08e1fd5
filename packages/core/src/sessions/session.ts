import { BudgieError } from "../errors.ts";
import type { RunnerSession } from "../runner/runner.ts";
import type { SessionId } from "../runner/session-id.ts";
import type { RegisteredSession } from "./session-register.ts";

/** A session of this process: one conversation with one agent about one workspace. */
export type Session = Pick<RegisteredSession, "agent" | "createdMs" | "directory" | "id"> & {
  readonly home: RunnerSession;
  /** Whether a process of the agent has run, so that there may be a conversation to resume */
  readonly begun: boolean;
  /** When its last turn ended */
  readonly usedMs: number;
  /** Notes that a process of the agent runs. */
  readonly begin: () => void;
  /** Waits for a turn that is to come in it, so that it does not count as idle. */
  readonly expecting: <T>(turn: () => Promise<T>) => Promise<T>;
  /** Throws `SESSION_NOT_FOUND` if it was discarded. */
  readonly checkOpen: () => void;
  /** Runs a turn, and notes that the session was in use until its end. */
  readonly using: <T>(turn: () => Promise<T>) => Promise<T>;
  /** For how long no turn has run in it, or waited for it, whatever became of the clock; `undefined` while one does */
  readonly idleMs: () => number | undefined;
  /** Resolves when no turn runs in it, or waits for it */
  readonly unused: () => Promise<void>;
};

/** What is known of a session before it is opened. */
export type SessionFacts = Pick<RegisteredSession, "agent" | "begun" | "createdMs" | "directory" | "usedMs">;

type Place = {
  readonly isOpen: (id: SessionId) => boolean;
  /** Writes down what became of a session */
  readonly note: (session: Session) => Promise<void>;
};

/** Creates the handle of a session whose home exists. */
export function createSession(home: RunnerSession, facts: SessionFacts, { isOpen, note }: Place): Session {
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
  const noted = async <T>(turn: () => Promise<T>): Promise<T> => {
    try {
      return await turn();
    } finally {
      session.usedMs = Date.now();
      if (isOpen(id)) await note(session);
    }
  };
  const session = {
    ...facts,
    id,
    home,
    begin() {
      if (session.begun) return;
      session.begun = true;
      // A budgie that is killed in this turn leaves a conversation.
      void note(session);
    },
    expecting: counted,
    checkOpen() {
      if (!isOpen(id)) throw sessionNotFound(id);
    },
    using: <T>(turn: () => Promise<T>) => counted(() => noted(turn)),
    idleMs: () => (turns === 0 ? performance.now() - idleSince : undefined),
    async unused() {
      while (turns > 0) await new Promise<void>((wake) => waiting.push(wake));
    },
  };
  return session;
}

/** The error of a session that nobody knows, or that has ended. */
export function sessionNotFound(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `There is no session "${sessionId}" here: sessions end with the budgie that began them, unless it keeps them, and when ` +
      `nobody uses them for longer than --session-ttl. Leave "sessionId" out to begin a new one.`,
  );
}
