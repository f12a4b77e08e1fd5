/** A session container that can be stopped and started again. */
type Stoppable = { stop(): Promise<void> };

/** Keeps the number of session containers that run in bounds, and stops those that nobody needs. */
export type IdleContainers = {
  /** Notes that a process joins this session container, and stops another one if there are too many. */
  acquire(container: Stoppable): void;
  /** Notes that a process has left it. */
  release(container: Stoppable): void;
  /** Releases it, and stops it unless a process is in it. */
  releaseAndStop(container: Stoppable): Promise<void>;
  /** Notes that it is being removed. */
  forget(container: Stoppable): void;
};

export type IdleContainersOptions = {
  readonly idleMs: number;
  readonly most: number;
};

type Use = { processes: number; timer: NodeJS.Timeout | undefined };

/** Creates the book of a runner's session containers. One that a process is in is never stopped, whatever the bound. */
export function createIdleContainers({ idleMs, most }: IdleContainersOptions): IdleContainers {
  // In the order of their last use.
  const uses = new Map<Stoppable, Use>();

  function forget(container: Stoppable): void {
    clearTimeout(uses.get(container)?.timer);
    uses.delete(container);
  }

  async function stop(container: Stoppable): Promise<void> {
    forget(container);
    // One that cannot be stopped stays until its session goes.
    await container.stop().catch(() => undefined);
  }

  function release(container: Stoppable): void {
    const use = uses.get(container);
    if (use === undefined || --use.processes > 0) return;
    uses.delete(container);
    uses.set(container, { processes: 0, timer: setTimeout(() => void stop(container), idleMs).unref() });
  }

  return {
    acquire(container) {
      const processes = (uses.get(container)?.processes ?? 0) + 1;
      forget(container);
      const idle = [...uses].find(([, use]) => use.processes === 0)?.[0];
      if (uses.size >= most && idle !== undefined) void stop(idle);
      uses.set(container, { processes, timer: undefined });
    },
    release,
    async releaseAndStop(container) {
      release(container);
      if (uses.get(container)?.processes === 0) await stop(container);
    },
    forget,
  };
}
