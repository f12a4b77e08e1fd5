import { EXIT, createShutdown, type Host } from "@budgie/mcp-server";

/**
 * Runs work that a process signal aborts, and that must clean up before it rejects. Then the program exits with code 130.
 */
export async function interruptible<T>(
  { events, exit, report }: Pick<Host, "events" | "exit" | "report">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const shutdown = createShutdown({ events, report, exit: (code) => exit(code || EXIT.interrupted) });
  const working = work(signal);
  shutdown.onBegin(async () => {
    controller.abort();
    await working.catch((error: unknown) => {
      if (error !== signal.reason) throw error;
    });
  });
  // The shutdown ends the program once `working` has settled.
  return working.catch((error: unknown) => (signal.aborted ? shutdown.ended : Promise.reject(error)));
}
