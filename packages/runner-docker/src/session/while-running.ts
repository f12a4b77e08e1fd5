import type { IdleContainers } from "./idle-containers.ts";
import type { SessionContainer } from "./session-container.ts";

/** Calls a function while a session's container runs, and resolves to its result. */
export type WhileRunning = <T>(use: () => Promise<T>) => Promise<T>;

/** Returns a function that starts a session's container for a use of it, and stops it afterwards unless a process needs it. */
export function toWhileRunning(container: SessionContainer, idleContainers: IdleContainers): WhileRunning {
  return async (use) => {
    idleContainers.acquire(container);
    try {
      await container.start();
      return await use();
    } finally {
      await idleContainers.releaseAndStop(container);
    }
  };
}
