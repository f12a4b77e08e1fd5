import { createStandbys, type Standby, type StandbysOptions } from "@budgie/core/standby";
import type { Starts } from "./until-quiet.ts";

/** A session that can be made ready for its first turn. */
export type Preparable = { readonly warmUp: () => Promise<void>; readonly remove: () => Promise<void> };

/** The sessions that are ready before a call needs them. */
export type Prepared<Session> = {
  /** Has sessions made ready from now on: one, or as many as began at once before. */
  readonly prepare: () => void;
  /** Makes others ready, if any were ever prepared. */
  readonly renew: () => void;
  /** Takes one, awaiting one that is being made; `undefined` if there is none, or if it failed */
  readonly take: () => Promise<{ readonly session: Session } | undefined> | undefined;
  readonly count: () => number;
  readonly close: () => Promise<void>;
};

type ReadyOptions = Pick<StandbysOptions, "idleMs" | "isMemoryShort" | "untilQuiet"> & {
  readonly most: number;
  readonly starts: Starts;
};

// Calls for several agents open their sessions together.
const AT_ONCE_MS = 500;

/** Creates the table, in which there are none yet. They are made one after another, each once the runner is quiet. */
export function createReadySessions<Session extends Preparable>(
  { starts, ...options }: ReadyOptions,
  openSession: () => Promise<Session>,
): Prepared<Session> {
  const ready = createStandbys<Standby & { readonly session: Session }>(options);
  const places = Array.from({ length: options.most }, ready.open);
  const inState = (...states: readonly string[]) => places.filter((place) => states.includes(place.state()));
  let isWanted = false;
  let taken = { count: 0, atMs: -Infinity };
  // The most that began at once lately.
  let peak = { count: 1, atMs: -Infinity };

  function noteTaken(): void {
    const now = performance.now();
    const isAtOnce = now - taken.atMs < AT_ONCE_MS || starts.activeCount + starts.pendingCount > 0;
    taken = { count: isAtOnce ? taken.count + 1 : 1, atMs: now };
    if (taken.count >= peak.count || now - peak.atMs > options.idleMs) peak = taken;
  }

  async function makeReady() {
    const session = await openSession();
    try {
      await session.warmUp();
      // Once this one is in its place.
      setImmediate(renew);
      // Whatever the next session is for, it would be the same.
      return { key: "", session, end: () => session.remove() };
    } catch (error) {
      await session.remove();
      throw error;
    }
  }

  function renew(): void {
    if (!isWanted || inState("pending", "making").length > 0 || inState("ready").length >= peak.count) return;
    inState("empty")[0]?.prepare(makeReady);
  }

  return {
    prepare() {
      isWanted = true;
      renew();
    },
    renew,
    take() {
      noteTaken();
      return (inState("ready")[0] ?? inState("making")[0])?.take();
    },
    count: ready.count,
    async close() {
      isWanted = false;
      await Promise.all(places.map((place) => place.close()));
    },
  };
}
