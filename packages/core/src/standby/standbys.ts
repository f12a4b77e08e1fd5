import { freemem, platform, totalmem } from "node:os";
import { createStandbyPlace, type PlaceOptions, type Standby, type StandbyPlace } from "./standby-place.ts";

export type StandbysOptions = {
  /** The time after which one that nobody took is ended */
  readonly idleMs: number;
  /** The number above which the one that has waited longest is ended; default and maximum 8 */
  readonly most?: number | undefined;
  /** Resolves when there is time to make one; default at once */
  readonly untilQuiet?: PlaceOptions["untilQuiet"] | undefined;
  /** Returns true if the machine needs their memory; default: if less than a tenth is available, on systems that report it */
  readonly isMemoryShort?: (() => boolean) | undefined;
  /** Default: 5 s, or the idle time if that is shorter */
  readonly lookEveryMs?: number | undefined;
};

const MOST = 8;
const LOOK_EVERY_MS = 5000;

/**
 * Creates an empty table of the standbys of a runner's sessions: their number, their time and their memory are limited together. Its timer does
 * not keep the Node process alive.
 */
export function createStandbys<T extends Standby>(options: StandbysOptions) {
  const { idleMs, isMemoryShort = isHostShort, most = MOST, untilQuiet = async () => undefined } = options;
  const lookEveryMs = options.lookEveryMs ?? Math.min(LOOK_EVERY_MS, idleMs);
  const limit = Math.min(most, MOST);
  // In the order of their sessions' last turns.
  const places = new Set<StandbyPlace<T>>();
  let looking: NodeJS.Timeout | undefined;

  function listWaiting(): readonly StandbyPlace<T>[] {
    return [...places].filter((place) => place.waitedMs() !== undefined);
  }

  /** Ends the one that has waited longest if there are too many; `false` if none can be ended. */
  function makeRoom(): boolean {
    const waiting = listWaiting();
    if (waiting.length + [...places].filter((place) => place.state() === "making").length < limit) return true;
    if (waiting[0] === undefined) return false;
    end(waiting[0]);
    return true;
  }

  function look(): void {
    const isShort = isMemoryShort();
    for (const place of listWaiting()) if (isShort || (place.waitedMs() ?? 0) >= idleMs) end(place);
    if ([...places].some((place) => place.state() !== "empty")) return;
    clearInterval(looking);
    looking = undefined;
  }

  return {
    /** Creates the place of one session's standby, which is closed with that session. */
    open: (): StandbyPlace<T> => {
      const place = createStandbyPlace<T>({ untilQuiet, mayMake: () => !isMemoryShort() && makeRoom() });
      let isClosed = false;
      const use = (): void => {
        if (isClosed) return;
        places.delete(entry);
        places.add(entry);
        looking ??= setInterval(look, lookEveryMs).unref();
      };
      const entry: StandbyPlace<T> = {
        ...place,
        prepare(make) {
          use();
          place.prepare(make);
        },
        hold(standby) {
          use();
          const hasRoom = !isMemoryShort() && makeRoom();
          place.hold(standby);
          if (!hasRoom) end(place);
        },
        close() {
          isClosed = true;
          return place.close().finally(() => places.delete(entry));
        },
      };
      return entry;
    },
    /** Counts those that wait. */
    count: () => listWaiting().length,
  };
}

/** Ends one in the background. */
function end({ clear }: Pick<StandbyPlace<Standby>, "clear">): void {
  clear().catch(() => undefined);
}

const LEAST_AVAILABLE = 0.1;

function isHostShort(): boolean {
  // Other systems count the file cache as used memory.
  return platform() === "linux" && freemem() < LEAST_AVAILABLE * totalmem();
}
