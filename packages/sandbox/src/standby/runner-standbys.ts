import type { AgentProcess } from "@budgie/core";
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
  let lastMs = -Infinity;
  const note = (): void => void (lastMs = performance.now());
  const activity = { starts, lastMs: () => lastMs };
  const waits = { idleMs: warmIdleMs || IDLE_MS, untilQuiet: (signal: AbortSignal) => untilQuiet(activity, signal) };
  const turns = createStandbys<T>({ ...waits, most: ahead || undefined });
  const most = Math.min(Math.max(ahead, 1), MOST);
  const sessions = createReadySessions({ ...waits, most, starts }, openSession);
  return {
    open: turns.open,
    sessions: {
      ...sessions,
      prepare: (): void => {
        // A client that has just listed the tools may call one at once.
        note();
        sessions.prepare();
      },
    },
    /** Makes other sessions ready once a turn has started, or failed to, and notes when it ends. */
    async follow(starting: Promise<AgentProcess>): Promise<AgentProcess> {
      try {
        const process = await starting;
        process.exit.then(note, note);
        return process;
      } finally {
        note();
        sessions.renew();
      }
    },
    count: () => ({ sessions: sessions.count(), turns: turns.count() }),
  };
}
