/** An error that ends the program with an exit code of its own; its message is the last that stderr says. */
export type ExitError = Error & { readonly exitCode: number };

/** Makes an error that ends the program; an empty message says nothing. */
export function toExitError(exitCode: number, message: string): ExitError {
  return Object.assign(new Error(message), { exitCode });
}

/** The message of whatever was thrown. */
export function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Tells an intended end from a bug. */
export function isExitError(error: unknown): error is ExitError {
  return error instanceof Error && "exitCode" in error && typeof error.exitCode === "number";
}
