import { BudgieError } from "@budgie/core";
import { EXIT } from "./choose-exit-code.ts";
import type { Host } from "./host.ts";

/** The orderly end of the program: it begins once, and takes at most {@link LIMIT_MS}. */
export type Shutdown = {
  /** Sets the cleanup; without it there is none. */
  readonly onBegin: (close: () => Promise<void>) => void;
  readonly begin: () => void;
  /** Never resolves: the program exits first */
  readonly ended: Promise<never>;
};

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** Less than the documented 10 s */
const LIMIT_MS = 9_500;
// npm and npx forward a Ctrl-C that the terminal has also sent to budgie.
const ECHO_MS = 100;
const { bug: BUG, failed: FAILED } = EXIT;

/**
 * Creates the shutdown. The program exits with code 0 after a signal or {@link Shutdown.begin}, with 70 after an uncaught
 * exception, and with 1 if the cleanup fails, times out or is cut short by a second signal.
 */
export function createShutdown({ events, exit, report }: Pick<Host, "events" | "exit" | "report">): Shutdown {
  let close = async (): Promise<void> => undefined;
  let exitCode: number | undefined;
  let firstSignalAt: number | undefined;

  async function end(code: number): Promise<void> {
    if (exitCode !== undefined) return;
    exitCode = code;
    setTimeout(() => {
      report(`Could not clean up within ${LIMIT_MS / 1000} s. "budgie gc" removes what is left.`);
      exit(code || FAILED);
    }, LIMIT_MS);
    try {
      await close();
      exit(code);
    } catch (error) {
      report(`Could not clean up: ${errorText(error)} "budgie gc" removes what is left.`);
      exit(code || FAILED);
    }
  }

  for (const signal of SIGNALS) {
    events.on(signal, () => {
      firstSignalAt ??= performance.now();
      if (performance.now() - firstSignalAt > ECHO_MS) exit(FAILED);
      void end(0);
    });
  }
  events.on("uncaughtException", (error: unknown) => {
    report(errorText(error));
    // The cleanup itself may throw repeatedly.
    if (exitCode === BUG) exit(BUG);
    exitCode = undefined;
    void end(BUG);
  });

  return {
    onBegin: (toClose) => void (close = toClose),
    begin: () => void end(0),
    ended: new Promise<never>(() => undefined),
  };
}

function errorText(error: unknown): string {
  if (error instanceof BudgieError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
