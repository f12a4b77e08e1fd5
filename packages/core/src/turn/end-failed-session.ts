import { BudgieError, type ErrorCode } from "../errors.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionStore } from "../sessions/session-store.ts";

/** Runs a turn, and discards its session if no process ever started or the session cannot safely be resumed. */
export async function endFailedSession<T>(store: SessionStore, session: Session, turn: () => Promise<T>): Promise<T> {
  const isFirst = !session.begun;
  try {
    return await turn();
  } catch (error) {
    const isEnded = !session.begun || (error instanceof BudgieError && endsSession(error.code, isFirst));
    const sessionId = isEnded ? undefined : session.id;
    if (error instanceof BudgieError) error.report = { ...error.report, directory: session.directory, sessionId };
    // The runner still owns a home that could not be removed, and retries when it closes.
    if (isEnded) await store.discard(session).catch(() => undefined);
    throw error;
  } finally {
    await session.noteUse();
  }
}

function endsSession(code: ErrorCode, isFirst: boolean): boolean {
  // On resume, Kiro would silently continue with the fallback agent, and with that agent's permissions.
  // A home above its disk limit would fail the next turn too.
  const isUnusable = code === "SESSION_UNUSABLE" || code === "AGENT_NOT_FOUND" || code === "DISK_LIMIT";
  return isUnusable || (code === "COMMAND_NOT_FOUND" && isFirst);
}
