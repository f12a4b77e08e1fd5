import { BudgieError } from "@budgie/core";

/** An error in the Pod's answer. */
export type PodError = {
  readonly code: string;
  readonly message: string;
  /** True if a process that runs is in the way */
  readonly isBusy?: true;
};

const MOST_WORDS = 1_000;
const BUSY = { isBusy: true } as const;

/** Returns an error as the Pod answers it. */
export function toPodError(error: unknown): PodError {
  if (error instanceof BudgieError) {
    const { cause, code, message } = error;
    return { code, message: message.slice(0, MOST_WORDS), ...(cause === BUSY ? BUSY : {}) };
  }
  // The words of the system would have paths of the Pod, and those of a program more.
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  const message = `The Pod failed to do what it was asked (${typeof code === "string" ? code : "unknown"}). Ask again.`;
  return { code: "RUNNER_UNAVAILABLE", message };
}

/** Returns the error of a second process. */
export function busyError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "A process of the session runs in the Pod. Wait for its end, or stop it.",
    { cause: BUSY },
  );
}
