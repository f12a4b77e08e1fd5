import type { SandboxContext } from "./sandbox-context.ts";
import type { SessionContainer } from "./session-container.ts";

/** Calls a function while a session's container runs, and tells it if budgie can look into the engine's containers. */
export type WhileRunning = <T>(use: (isVisible: boolean) => Promise<T>) => Promise<T>;

/** Returns a function that starts a session's container for a use of it, and stops it afterwards unless a process needs it. */
export function toWhileRunning(
  container: SessionContainer,
  { idleContainers, visibility }: Pick<SandboxContext, "idleContainers" | "visibility">,
): WhileRunning {
  return async (use) => {
    idleContainers.acquire(container);
    try {
      await container.start();
      return await use(await visibility.decide(container));
    } finally {
      await idleContainers.releaseAndStop(container);
    }
  };
}
