import { createStandbys, type Standby } from "@budgie/core/standby";
import { createReadySessions, type Preparable } from "./ready-sessions.ts";
import { untilQuiet, type Starts } from "./until-quiet.ts";

const IDLE_MS = 5 * 60_000;
const MOST = 8;

/** Creates the standbys of a runner: a place for each session, and the sessions that are ready before a call needs them. */
export function createRunnerStandbys<T extends Standby, Session extends Preparable>(
  { ahead = 0, warmIdleMs = 0 }: { readonly ahead?: number | undefined; readonly warmIdleMs?: number | undefined },
  starts: Starts,
  openSession: () => Promise<Session>,
) {
  const waits = { idleMs: warmIdleMs || IDLE_MS, untilQuiet: (signal: AbortSignal) => untilQuiet(starts, signal) };
  const turns = createStandbys<T>({ ...waits, most: ahead || undefined });
  const most = Math.min(Math.max(ahead, 1), MOST);
  const sessions = createReadySessions({ ...waits, most, starts }, openSession);
  return {
    open: turns.open,
    sessions,
    count: () => ({ sessions: sessions.count(), turns: turns.count() }),
  };
}
