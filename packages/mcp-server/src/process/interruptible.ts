import type { Host } from "./host.ts";
import { createShutdown } from "./shutdown.ts";

/**
 * Does work that a signal aborts, and that cleans up before it rejects. Then the program ends with exit code 1: what was asked
 * for was not done.
 */
export async function interruptible<T>(
  { events, exit, report }: Pick<Host, "events" | "exit" | "report">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const shutdown = createShutdown({ events, report, exit: (code) => exit(code || 1) });
  const working = work(signal);
  shutdown.onBegin(async () => {
    controller.abort();
    await working.catch((error: unknown) => {
      if (error !== signal.reason) throw error;
    });
  });
  // The shutdown ends the program as soon as this is over.
  return working.catch((error: unknown) => (signal.aborted ? shutdown.ended : Promise.reject(error)));
}
