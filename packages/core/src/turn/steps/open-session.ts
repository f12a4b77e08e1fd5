import { BudgieError, type ErrorCode } from "../../errors.ts";
import { subjectOf, type TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/**
 * Opens the session, or takes the one that the call names. Afterwards notes it as used, and discards it if no process ever started or it
 * cannot safely be resumed.
 */
export function openSession({ sessions, workspacePathOf }: Pick<TurnSettings, "sessions" | "workspacePathOf">): Step {
  return async (turn, next) => {
    const workspacePath = workspacePathOf(turn.request.directory);
    const session = turn.resumed ?? (await sessions.open({ ...subjectOf(turn.request), workspacePath }));
    turn.session = session;
    turn.report.directory = session.directory;
    turn.report.sessionId = session.id;
    turn.events.emit("session", session.id);
    if (turn.request.sessionId === undefined) turn.enter({ phase: "starting" });
    session.home.hearWaits?.((doing) => turn.enter({ phase: "starting", doing }));
    const isFirst = !session.begun;
    return session.inUse(async () => {
      try {
        return await next();
      } catch (error) {
        const isEnded = !session.begun || (error instanceof BudgieError && endsSession(error.code, isFirst));
        // The runner still owns a home that could not be removed, and retries when it closes.
        if (isEnded) await sessions.discard(session).catch(() => undefined);
        if (isEnded) turn.report.sessionId = undefined;
        throw error;
      } finally {
        await session.noteUse();
      }
    });
  };
}

function endsSession(code: ErrorCode, isFirst: boolean): boolean {
  // On resume, Kiro would silently continue with the fallback agent, and with that agent's permissions.
  // A home above its disk limit would fail the next turn too.
  const isUnusable = code === "SESSION_UNUSABLE" || code === "AGENT_NOT_FOUND" || code === "DISK_LIMIT";
  return isUnusable || (code === "COMMAND_NOT_FOUND" && isFirst);
}
