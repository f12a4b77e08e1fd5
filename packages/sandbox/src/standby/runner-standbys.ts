import { createStandbys, type Standby } from "@budgie/core/standby";
import { untilQuiet, type Starts } from "./until-quiet.ts";

/** A session that can be made ready for its first turn. */
type Preparable = { readonly warmUp: () => Promise<void>; readonly remove: () => Promise<void> };

const IDLE_MS = 5 * 60_000;

/** Creates the standbys of a runner: a place for each session, and one for the session that is ready before a call needs it. */
export function createRunnerStandbys<T extends Standby, Session extends Preparable>(
  { ahead = 0, warmIdleMs = 0 }: { readonly ahead?: number | undefined; readonly warmIdleMs?: number | undefined },
  starts: Starts,
  openSession: () => Promise<Session>,
) {
  const waits = { idleMs: warmIdleMs || IDLE_MS, untilQuiet: (signal: AbortSignal) => untilQuiet(starts, signal) };
  const turns = createStandbys<T>({ ...waits, most: ahead || undefined });
  const sessions = createStandbys<Standby & { readonly session: Session }>({ ...waits, most: 1 });
  const nextSession = sessions.open();
  let isWanted = false;

  async function makeReady() {
    const session = await openSession();
    try {
      await session.warmUp();
      // Whatever the next session is for, it would be the same.
      return { key: "", session, end: () => session.remove() };
    } catch (error) {
      await session.remove();
      throw error;
    }
  }

  return {
    open: turns.open,
    nextSession,
    prepareSession: (): void => {
      isWanted = true;
      nextSession.prepare(makeReady);
    },
    /** Makes another session ready, if one was ever prepared. */
    renewSession: () => isWanted && nextSession.prepare(makeReady),
    count: () => ({ sessions: sessions.count(), turns: turns.count() }),
  };
}
