/** A session that can have its Pod before its first turn. */
export type Preparable = {
  /** Opens its Pod */
  readonly warmUp: () => Promise<void>;
  /** True once its Pod was lost */
  readonly isLost: () => boolean;
  readonly remove: () => Promise<void>;
};

/** The sessions with Pods that wait for their first turns. */
export type Prepared<T> = {
  /** Makes as many as are missing, in the background; never fails */
  readonly prepare: () => void;
  /** Takes one, with its Pod or on the way to it, for which it does not wait; resolves to `undefined` if that failed. `undefined` if there is none */
  readonly take: () => Promise<T | undefined> | undefined;
  /** Counts those that have their Pods */
  readonly count: () => number;
  /** Removes them all, and makes no more */
  readonly close: () => Promise<void>;
};

type Waiting<T> = {
  readonly opening: Promise<T>;
  /** Settles once it has its Pod, or is removed */
  made?: Promise<void>;
  /** Set once it has its Pod */
  session?: T;
  /** Set once no call may take it: one has, which opens its Pod if that is not there yet, or it is being removed */
  isOver?: true;
};

/** Creates the place of so many sessions, of which none exists yet. */
export function createReadySessions<T extends Preparable>(most: number, open: () => Promise<T>): Prepared<T> {
  const waiting = new Set<Waiting<T>>();
  let isClosed = false;

  async function make(one: Waiting<T>): Promise<T> {
    const session = await one.opening;
    try {
      await session.warmUp();
      return session;
    } catch (error) {
      if (one.isOver !== true) {
        one.isOver = true;
        await session.remove();
      }
      throw error;
    }
  }

  function add(): void {
    const one: Waiting<T> = { opening: open() };
    waiting.add(one);
    one.made = make(one).then(
      (session) => void (one.session = session),
      // The next call may find a cluster that has room, or says what is wrong.
      () => void waiting.delete(one),
    );
  }

  /** Removes one whose Pod is gone. */
  function drop(): void {
    for (const one of waiting)
      if (one.session?.isLost() === true) {
        waiting.delete(one);
        void one.session.remove().catch(() => undefined);
      }
  }

  return {
    prepare() {
      drop();
      while (!isClosed && waiting.size < most) add();
    },
    take() {
      drop();
      const free = [...waiting].filter(({ isOver }) => isOver !== true);
      const one = free.find(({ session }) => session !== undefined) ?? free[0];
      if (one === undefined) return undefined;
      waiting.delete(one);
      one.isOver = true;
      return one.opening.catch(() => undefined);
    },
    count: () => [...waiting].filter(({ session }) => session !== undefined).length,
    async close() {
      isClosed = true;
      // A removal ends the wait for a Pod, which may take minutes.
      const all = [...waiting].map(async ({ made, opening }) => {
        await (await opening).remove();
        await made;
      });
      waiting.clear();
      await Promise.allSettled(all);
    },
  };
}
