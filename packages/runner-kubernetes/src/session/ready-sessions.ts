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
  /** Takes one, with its Pod or on the way to it; resolves to `undefined` if that failed. `undefined` if there is none */
  readonly take: () => Promise<T | undefined> | undefined;
  /** Counts those that have their Pods */
  readonly count: () => number;
  /** Removes them all, and makes no more */
  readonly close: () => Promise<void>;
};

type Waiting<T> = {
  readonly opening: Promise<T>;
  readonly made: Promise<T | undefined>;
  /** Set once it has its Pod */
  session?: T;
};

/** Creates the place of so many sessions, of which none exists yet. */
export function createReadySessions<T extends Preparable>(most: number, open: () => Promise<T>): Prepared<T> {
  const waiting = new Set<Waiting<T>>();
  let isClosed = false;

  async function make(opening: Promise<T>): Promise<T> {
    const session = await opening;
    try {
      await session.warmUp();
      return session;
    } catch (error) {
      await session.remove();
      throw error;
    }
  }

  function add(): void {
    const opening = open();
    const one: Waiting<T> = {
      opening,
      made: make(opening).then(
        (session) => (one.session = session),
        // The next call may find a cluster that has room, or says what is wrong.
        () => void waiting.delete(one),
      ),
    };
    waiting.add(one);
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
      const one = [...waiting].find(({ session }) => session !== undefined) ?? [...waiting][0];
      if (one === undefined) return undefined;
      waiting.delete(one);
      return one.made;
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
