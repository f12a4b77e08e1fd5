import type { AgentProcess } from "../runner/runner.ts";

/** A sandbox that was launched before a turn needs it, or a process that a turn left. */
export type Standby = {
  /** Equal to the key of a start only if that would make the same one now */
  readonly key: string;
  /** The process, if one runs in it already */
  readonly process?: AgentProcess | undefined;
  /** Ends it, and resolves once nothing of it runs. Rejects like `AgentProcess.stop` */
  end(): Promise<unknown>;
};

/** The place of one session's standby. */
export type StandbyPlace<T extends Standby> = {
  /** Makes one in the background once the runner is quiet, unless there is one; never rejects. `make` resolves to `undefined` if it cannot */
  readonly prepare: (make: () => Promise<T | undefined>) => void;
  /** Keeps a process until it is taken, or ends. */
  readonly hold: (standby: T & { readonly process: AgentProcess }) => void;
  /** Takes it, awaiting one that is being made; `undefined` if there is none, or if it failed. The taker ends it */
  readonly take: () => Promise<T | undefined> | undefined;
  readonly state: () => State;
  /** The time since it has waited, in milliseconds; `undefined` if none waits */
  readonly waitedMs: () => number | undefined;
  /** Ends it. */
  readonly clear: () => Promise<void>;
  /** Resolves once the last one that was to end has ended; rejects if that failed. */
  readonly cleared: () => Promise<void>;
  /** Ends it, makes no more, and waits for those that are being made. */
  readonly close: () => Promise<void>;
};

/** `pending`: to be made once the runner is quiet; `ready`: launched; `held`: its process runs. */
type State = "empty" | "pending" | "making" | "ready" | "held";

export type PlaceOptions = {
  /** Resolves when there is time to make one; rejects when `signal` aborts */
  readonly untilQuiet: (signal: AbortSignal) => Promise<void>;
  /** Returns true if the machine can bear one more; called once the runner is quiet */
  readonly mayMake: () => boolean;
};

type Entry<T> = {
  /** Resolves to `undefined` if it failed */
  readonly made: Promise<T | undefined>;
  /** Ends the wait for a quiet time */
  readonly pending: AbortController;
  state: Exclude<State, "empty">;
  sinceMs: number;
};

/** Creates an empty place. */
export function createStandbyPlace<T extends Standby>({ mayMake, untilQuiet }: PlaceOptions): StandbyPlace<T> {
  const begun = new Set<Promise<unknown>>();
  let entry: Entry<T> | undefined;
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  async function begin(pending: AbortController, make: () => Promise<T | undefined>): Promise<T | undefined> {
    try {
      await untilQuiet(pending.signal);
      if (!mayMake()) return leave(pending);
      if (entry?.pending === pending) entry.state = "making";
      const standby = await make();
      if (standby === undefined) return leave(pending);
      if (entry?.pending === pending) Object.assign(entry, { state: "ready", sinceMs: performance.now() });
      return standby;
    } catch {
      return leave(pending);
    }
  }

  /** Frees the place after a failure. A call then makes everything itself, and reports what is wrong. */
  function leave(pending: AbortController): undefined {
    if (entry?.pending === pending) entry = undefined;
  }

  function empty(): Entry<T> | undefined {
    const found = entry;
    entry = undefined;
    if (found?.state === "pending") found.pending.abort();
    return found;
  }

  function clear(): Promise<void> {
    const found = empty();
    if (found === undefined) return cleared();
    const ended = found.made.then((standby) => standby?.end()).then(() => undefined);
    ending.add(ended);
    const forget = (): void => void ending.delete(ended);
    // A failure is reported by the session's next turn, and the runner retries when it closes.
    ended.then(forget, forget);
    return ended;
  }

  async function cleared(): Promise<void> {
    await Promise.all(ending);
  }

  return {
    prepare(make) {
      if (isClosed || entry !== undefined) return;
      const pending = new AbortController();
      const made = begin(pending, make);
      entry = { made, pending, state: "pending", sinceMs: performance.now() };
      begun.add(made);
      void made.then(() => begun.delete(made));
    },
    hold(standby) {
      const held: Entry<T> = {
        made: Promise.resolve(standby),
        pending: new AbortController(),
        state: "held",
        sinceMs: performance.now(),
      };
      clear().catch(() => undefined);
      entry = held;
      const forget = (): void => void (entry === held && (entry = undefined));
      standby.process.exit.then(forget, forget);
      if (isClosed) clear().catch(() => undefined);
    },
    take() {
      const found = empty();
      return found?.state === "pending" ? undefined : found?.made;
    },
    state: () => entry?.state ?? "empty",
    waitedMs: () =>
      entry?.state === "ready" || entry?.state === "held" ? performance.now() - entry.sinceMs : undefined,
    clear,
    cleared,
    async close() {
      isClosed = true;
      await clear();
      await Promise.all(begun);
    },
  };
}
