import { BudgieError, type ErrorCode } from "../errors.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionBook } from "../sessions/session-store.ts";

/** A session whose first process never ran, or that must not be gone on with, ends with its turn. */
export async function keepingSession<T>(book: SessionBook, session: Session, turn: () => Promise<T>): Promise<T> {
  const isFirst = !session.begun;
  try {
    return await session.using(turn);
  } catch (error) {
    const isOver = !session.begun || (error instanceof BudgieError && endsSession(error.code, isFirst));
    if (error instanceof BudgieError) error.directory = session.directory;
    // The runner still owns what could not be removed, and tries again when it closes.
    if (isOver) await book.discard(session).catch(() => undefined);
    else if (error instanceof BudgieError) error.sessionId = session.id;
    throw error;
  }
}

function endsSession(code: ErrorCode, isFirst: boolean): boolean {
  // Resumed, Kiro would go on with the agent that answered instead, with that one's permissions, and say nothing.
  // A home above its limit would end the next turn too.
  const never = code === "SESSION_UNUSABLE" || code === "AGENT_NOT_FOUND" || code === "DISK_LIMIT";
  return never || (code === "COMMAND_NOT_FOUND" && isFirst);
}
