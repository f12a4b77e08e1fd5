import type { WhileRunning } from "../container-files/check-folders.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import type { SessionContainer } from "./session-container.ts";

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
