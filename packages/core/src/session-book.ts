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

type SessionRequest = {
  readonly sessionId: string | undefined;
  readonly agent: string;
  readonly directory: string;
};

/** The sessions of this process. */
export type SessionBook = {
  /**
   * Opens the session that was asked for, or a new one. Throws `INPUT_INVALID` for a malformed id or one of another
   * agent or workspace, and `SESSION_NOT_FOUND` for an unknown one: never a new conversation in its place.
   */
  open(request: SessionRequest): Promise<Session>;
  /** Forgets a session and removes its home. */
  discard(session: Session): Promise<void>;
};

/** Creates the book of the sessions that live in `runner`. */
export function createSessionBook(runner: Runner): SessionBook {
  const sessions = new Map<SessionId, Session>();
  return {
    async open({ agent, directory, sessionId }) {
      if (sessionId !== undefined) return find(sessions, { agent, directory, sessionId });
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
    async discard(session) {
      sessions.delete(session.id);
      await session.home.remove();
    },
  };
}

function find(
  sessions: ReadonlyMap<SessionId, Session>,
  { agent, directory, sessionId }: SessionRequest & { readonly sessionId: string },
): Session {
  const session = sessions.get(parseSessionId(sessionId));
  if (session === undefined) throw notFound(sessionId);
  if (session.agent !== agent) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The session "${sessionId}" is one with the agent "${session.agent}", not "${agent}". ` +
        `Call that agent, or leave "sessionId" out.`,
    );
  }
  if (session.directory !== directory) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The session "${sessionId}" works on "${session.directory}", not on "${directory}". ` +
        `Pass the same directory, or leave "sessionId" out.`,
    );
  }
  return session;
}

function notFound(sessionId: string): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `There is no session "${sessionId}" here: sessions end with the budgie that began them. ` +
      `Leave "sessionId" out to begin a new one.`,
  );
}
