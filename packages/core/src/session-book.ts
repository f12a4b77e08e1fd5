import pLimit from "p-limit";
import { BudgieError } from "./errors.ts";
import type { Runner, RunnerSession } from "./runner.ts";
import { createSessionId, parseSessionId, type SessionId } from "./session-id.ts";

/** A session of this process: one conversation with one agent about one workspace. */
export type Session = {
  readonly id: SessionId;
  readonly agent: string;
  readonly directory: string;
  readonly home: RunnerSession;
  /** Whether a process of the agent has run, so that there may be a conversation to resume */
  begun: boolean;
  /** Runs tasks one at a time, in the order they came; `SESSION_NOT_FOUND` if the session was discarded meanwhile */
  readonly inTurn: <T>(task: () => Promise<T>) => Promise<T>;
};

/** What a session is about, for as long as it lasts. */
type SessionSubject = {
  readonly agent: string;
  readonly directory: string;
};

/** The sessions of this process. */
export type SessionBook = {
  /** Begins a new session. */
  open(subject: SessionSubject): Promise<Session>;
  /**
   * Finds a session by the id that a caller gave. Throws `INPUT_INVALID` for a malformed id or one of another agent or
   * workspace, and `SESSION_NOT_FOUND` for an unknown one: never a new conversation in its place.
   */
  find(sessionId: string, subject: SessionSubject): Session;
  /** Forgets a session and removes its home. */
  discard(session: Session): Promise<void>;
};

/** Creates the book of the sessions that live in `runner`. */
export function createSessionBook(runner: Runner): SessionBook {
  const sessions = new Map<SessionId, Session>();
  return {
    async open({ agent, directory }) {
      const id = createSessionId();
      const home = await runner.openSession(id);
      const oneAtATime = pLimit(1);
      const session: Session = {
        id,
        agent,
        directory,
        home,
        begun: false,
        // A turn may have ended the session while this one waited.
        inTurn: (task) => oneAtATime(() => (sessions.has(id) ? task() : Promise.reject(notFound(id)))),
      };
      sessions.set(id, session);
      return session;
    },
    find(sessionId, subject) {
      const session = sessions.get(parseSessionId(sessionId));
      if (session === undefined) throw notFound(sessionId);
      refuseOther(session, subject);
      return session;
    },
    async discard(session) {
      sessions.delete(session.id);
      await session.home.remove();
    },
  };
}

function refuseOther({ agent, directory, id }: Session, wanted: SessionSubject): void {
  if (agent !== wanted.agent) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The session "${id}" is one with the agent "${agent}", not "${wanted.agent}". ` +
        `Call that agent, or leave "sessionId" out.`,
    );
  }
  if (directory !== wanted.directory) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The session "${id}" works on "${directory}", not on "${wanted.directory}". ` +
        `Pass the same directory, or leave "sessionId" out.`,
    );
  }
}

function notFound(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `There is no session "${sessionId}" here: sessions end with the budgie that began them. ` +
      `Leave "sessionId" out to begin a new one.`,
  );
}
