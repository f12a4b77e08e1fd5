/** A session's container, which can be stopped and started again. */
type Stoppable = { stop(): Promise<void> };

/** The running session containers, whose number is limited and which are stopped when idle. */
export type IdleContainers = {
  /** Records that a process joins a container, and stops an idle one if there are too many. */
  acquire(container: Stoppable): void;
  /** Records that a process left a container, and stops it after `idleMs` without another process. */
  release(container: Stoppable): void;
  /** Releases a container, and stops it at once unless another process uses it. */
  releaseAndStop(container: Stoppable): Promise<void>;
  /** Stops the container that has been idle longest, if that is this long. */
  stopLongest(leastMs: number): void;
  /** Forgets a container that is being removed. */
  forget(container: Stoppable): void;
};

export type IdleContainersOptions = {
  readonly idleMs: number;
  readonly most: number;
};

type Use = { processes: number; timer: NodeJS.Timeout | undefined; readonly sinceMs: number };

/** Creates the table of a runner's session containers. One that a process uses is never stopped, even above the limit. */
export function createIdleContainers({ idleMs, most }: IdleContainersOptions): IdleContainers {
  // In the order of their last use.
  const uses = new Map<Stoppable, Use>();

  function forget(container: Stoppable): void {
    clearTimeout(uses.get(container)?.timer);
    uses.delete(container);
  }

  async function stop(container: Stoppable): Promise<void> {
    forget(container);
    // A container that cannot be stopped stays until its session ends.
    await container.stop().catch(() => undefined);
  }

  function release(container: Stoppable): void {
    const use = uses.get(container);
    if (use === undefined || --use.processes > 0) return;
    uses.delete(container);
    const timer = setTimeout(() => void stop(container), idleMs).unref();
    uses.set(container, { processes: 0, timer, sinceMs: performance.now() });
  }

  /** Finds the container that has been idle longest. */
  function findLongest(): readonly [Stoppable, Use] | undefined {
    return [...uses].find(([, use]) => use.processes === 0);
  }

  return {
    acquire(container) {
      const processes = (uses.get(container)?.processes ?? 0) + 1;
      forget(container);
      const idle = findLongest()?.[0];
      if (uses.size >= most && idle !== undefined) void stop(idle);
      uses.set(container, { processes, timer: undefined, sinceMs: performance.now() });
    },
    release,
    async releaseAndStop(container) {
      release(container);
      if (uses.get(container)?.processes === 0) await stop(container);
    },
    stopLongest(leastMs) {
      const [container, use] = findLongest() ?? [];
      if (container !== undefined && use !== undefined && performance.now() - use.sinceMs >= leastMs)
        void stop(container);
    },
    forget,
  };
}
