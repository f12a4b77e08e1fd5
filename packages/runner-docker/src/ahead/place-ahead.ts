/** The place of one thing that is made before a call needs it. */
export type PlaceAhead<Thing> = {
  /** Makes one in the background once the runner is quiet, unless there is one; never rejects */
  readonly prepare: (make: () => Promise<Thing>) => void;
  /** Makes another one like the last, if one was ever prepared. */
  readonly renew: () => void;
  /** Takes it, also one that is being made; `undefined` if there is none, or if it failed */
  readonly take: () => Promise<Thing | undefined> | undefined;
  readonly state: () => State;
  /** Removes it. */
  readonly clear: () => Promise<void>;
  /** Removes it, makes no more, and waits for those that are being made. */
  readonly close: () => Promise<void>;
};

type State = "empty" | "waiting" | "making" | "ready";

export type PlaceOptions<Thing> = {
  readonly remove: (thing: Thing) => Promise<void>;
  /** Resolves when there is time to make one; rejects when `signal` aborts */
  readonly untilQuiet: (signal: AbortSignal) => Promise<void>;
  /** Returns true if the machine can bear one more; called once the runner is quiet */
  readonly mayMake: () => boolean;
  /** Returns true if an unused one may stay; called every 5 s */
  readonly mayKeep: () => boolean;
  /** Time after which an unused one is removed */
  readonly idleMs: number;
};

type Kept<Thing> = {
  /** Resolves to `undefined` if it failed */
  readonly made: Promise<Thing | undefined>;
  /** Ends the wait for a quiet time */
  readonly waiting: AbortController;
  state: Exclude<State, "empty">;
  timer?: NodeJS.Timeout;
};

const LOOK_EVERY_MS = 5000;

/** Creates an empty place. Its timer does not keep the Node process alive. */
export function createPlaceAhead<Thing>({
  idleMs,
  mayKeep,
  mayMake,
  remove,
  untilQuiet,
}: PlaceOptions<Thing>): PlaceAhead<Thing> {
  const begun = new Set<Promise<unknown>>();
  let kept: Kept<Thing> | undefined;
  let makeOne: (() => Promise<Thing>) | undefined;
  let isClosed = false;

  async function begin(waiting: AbortController, make: () => Promise<Thing>): Promise<Thing | undefined> {
    try {
      await untilQuiet(waiting.signal);
      if (!mayMake()) return leave(waiting);
      if (kept?.waiting === waiting) kept.state = "making";
      const thing = await make();
      if (kept?.waiting === waiting) {
        kept.state = "ready";
        kept.timer = watch();
      }
      return thing;
    } catch {
      return leave(waiting);
    }
  }

  /** Removes an unused one after a while. */
  function watch(): NodeJS.Timeout {
    const until = performance.now() + idleMs;
    const look = (): void => {
      if (performance.now() >= until || !mayKeep()) clear().catch(() => undefined);
    };
    return setInterval(look, LOOK_EVERY_MS).unref();
  }

  /** Frees the place after a failure. A call then makes everything itself, and reports what is wrong. */
  function leave(waiting: AbortController): undefined {
    if (kept?.waiting === waiting) kept = undefined;
  }

  function empty(): Kept<Thing> | undefined {
    const found = kept;
    kept = undefined;
    clearInterval(found?.timer);
    if (found?.state === "waiting") found.waiting.abort();
    return found;
  }

  async function clear(): Promise<void> {
    const thing = await empty()?.made;
    if (thing !== undefined) await remove(thing);
  }

  function renew(): void {
    if (makeOne === undefined || isClosed || kept !== undefined) return;
    const waiting = new AbortController();
    const made = begin(waiting, makeOne);
    kept = { made, waiting, state: "waiting" };
    begun.add(made);
    void made.then(() => begun.delete(made));
  }

  return {
    prepare(make) {
      makeOne = make;
      renew();
    },
    renew,
    take: () => (kept?.state === "waiting" ? void empty() : empty()?.made),
    state: () => kept?.state ?? "empty",
    clear,
    async close() {
      isClosed = true;
      await clear();
      await Promise.all(begun);
    },
  };
}
