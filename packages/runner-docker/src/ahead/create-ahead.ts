import { isMemoryShort as isHostShort, type AheadCount } from "@budgie/core";
import { createPlaceAhead, type PlaceAhead, type PlaceOptions } from "./place-ahead.ts";

/** A session that can be prepared for its first turn. */
export type PreparedSession = {
  /** Starts what its first turn would wait for */
  readonly warmUp: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

/** A runner's places for one session, and for the containers of sessions' next turns. */
export type Ahead<Session, Turn> = {
  readonly session: PlaceAhead<Session>;
  /** Makes the session ready in its place, unless there is one. */
  readonly prepare: () => void;
  /** Creates the place of a session's next turn, which is closed with that session. */
  readonly openTurn: () => PlaceAhead<Turn>;
  /** Counts what is ready. */
  readonly count: () => AheadCount;
};

export type AheadOptions<Session> = Pick<PlaceOptions<Session>, "untilQuiet"> & {
  /** Number of turns over all sessions, at most 8 */
  readonly turns: number;
  readonly openSession: () => Promise<Session>;
  /** Default: less than a tenth of the machine's memory is available */
  readonly isMemoryShort?: (() => boolean) | undefined;
};

const MOST_TURNS = 8;
const SESSION_IDLE_MS = 5 * 60_000;
const TURN_IDLE_MS = 2 * 60_000;

/** Creates the empty places of a runner. */
export function createAhead<Session extends PreparedSession, Turn extends { discard(): Promise<void> }>(
  options: AheadOptions<Session>,
): Ahead<Session, Turn> {
  const { isMemoryShort = isHostShort, openSession, untilQuiet } = options;
  const isFree = (): boolean => !isMemoryShort();
  const session = createPlaceAhead<Session>({
    untilQuiet,
    mayMake: isFree,
    mayKeep: isFree,
    remove: (unused) => unused.remove(),
    idleMs: SESSION_IDLE_MS,
  });
  // In the order of their last turns.
  const turns = new Set<PlaceAhead<Turn>>();
  const most = Math.min(options.turns, MOST_TURNS);
  const list = (...states: readonly string[]) => [...turns].filter((turn) => states.includes(turn.state()));

  /** Clears the place of the turn that has waited longest if there are too many; `false` if none can be cleared. */
  function makeRoom(): boolean {
    if (list("making", "ready").length < most) return true;
    const [oldest] = list("ready");
    oldest?.clear().catch(() => undefined);
    return oldest !== undefined;
  }

  return {
    session,
    prepare: () => session.prepare(() => makeReady(openSession())),
    count: () => ({ sessions: session.state() === "ready" ? 1 : 0, turns: list("ready").length }),
    openTurn() {
      const turn = createPlaceAhead<Turn>({
        untilQuiet,
        mayMake: () => isFree() && makeRoom(),
        mayKeep: isFree,
        remove: (unused) => unused.discard(),
        idleMs: TURN_IDLE_MS,
      });
      return {
        ...turn,
        prepare(make) {
          turns.delete(turn);
          turns.add(turn);
          turn.prepare(make);
        },
        close: () => turn.close().finally(() => turns.delete(turn)),
      };
    },
  };
}

/** Makes a session ready for its first turn. Removes it if that fails. */
async function makeReady<T extends PreparedSession>(opening: Promise<T>): Promise<T> {
  const session = await opening;
  try {
    await session.warmUp();
    return session;
  } catch (error) {
    await session.remove();
    throw error;
  }
}
