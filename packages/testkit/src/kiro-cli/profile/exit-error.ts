/** An error that ends the program with its exit code, and its message as the last line on stderr. */
export type ExitError = Error & { readonly exitCode: number };

/** Creates an error that ends the program; an empty message prints nothing. */
export function toExitError(exitCode: number, message: string): ExitError {
  return Object.assign(new Error(message), { exitCode });
}

/** Returns the message of a thrown value. */
export function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Tells if an error is an intended exit and not a bug. */
export function isExitError(error: unknown): error is ExitError {
  return error instanceof Error && "exitCode" in error && typeof error.exitCode === "number";
}
