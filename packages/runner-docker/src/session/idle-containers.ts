/** A holder that can be stopped and started again. */
type Stoppable = { stop(): Promise<void> };

/** Keeps the number of holders that run in bounds, and stops those that nobody needs. */
export type LiveHolders = {
  /** Notes that a process joins this holder, and stops another one if there are too many. */
  enter(holder: Stoppable): void;
  /** Notes that a process has left it. */
  leave(holder: Stoppable): void;
  /** Releases it, and stops it unless a process is in it. */
  release(holder: Stoppable): Promise<void>;
  /** Notes that it is being removed. */
  forget(holder: Stoppable): void;
};

export type LiveHoldersOptions = {
  readonly idleMs: number;
  readonly most: number;
};

type Use = { processes: number; timer: NodeJS.Timeout | undefined };

/** Creates the book of a runner's holders. One that a process is in is never stopped, whatever the bound. */
export function createLiveHolders({ idleMs, most }: LiveHoldersOptions): LiveHolders {
  // In the order of their last use.
  const uses = new Map<Stoppable, Use>();

  function forget(holder: Stoppable): void {
    clearTimeout(uses.get(holder)?.timer);
    uses.delete(holder);
  }

  async function stop(holder: Stoppable): Promise<void> {
    forget(holder);
    // One that cannot be stopped stays until its session goes.
    await holder.stop().catch(() => undefined);
  }

  function leave(holder: Stoppable): void {
    const use = uses.get(holder);
    if (use === undefined || --use.processes > 0) return;
    uses.delete(holder);
    uses.set(holder, { processes: 0, timer: setTimeout(() => void stop(holder), idleMs).unref() });
  }

  return {
    enter(holder) {
      const processes = (uses.get(holder)?.processes ?? 0) + 1;
      forget(holder);
      const idle = [...uses].find(([, use]) => use.processes === 0)?.[0];
      if (uses.size >= most && idle !== undefined) void stop(idle);
      uses.set(holder, { processes, timer: undefined });
    },
    leave,
    async release(holder) {
      leave(holder);
      if (uses.get(holder)?.processes === 0) await stop(holder);
    },
    forget,
  };
}
