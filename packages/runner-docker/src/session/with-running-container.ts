import type { WithRunningContainer } from "../container-files/refuse-links.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import type { SessionContainer } from "./session-container.ts";

/** Returns a function that starts a session's container for a use of it, and stops it afterwards unless a process needs it. */
export function withRunningContainer(
  container: SessionContainer,
  { idleContainers, visibility }: Pick<SandboxContext, "idleContainers" | "visibility">,
): WithRunningContainer {
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
