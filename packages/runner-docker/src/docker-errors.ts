import { BudgieError } from "@budgie/core";

type EngineError = Error & {
  readonly statusCode?: number;
  readonly json?: { readonly message?: string };
  readonly code?: string;
};

/** The HTTP status of an engine's refusal; `undefined` if the error is not one. */
export function statusOf(error: unknown): number | undefined {
  return (error as EngineError).statusCode;
}

/** For removals: a thing that is gone already is what was wanted. */
export function ignoreMissing(error: unknown): void {
  if (statusOf(error) !== 404) throw error;
}

/** Translates what the engine or the way to it said; what is not recognised passes unchanged. */
export function toBudgieError(error: unknown, image: string): unknown {
  if (error instanceof BudgieError || !(error instanceof Error)) return error;
  const { code, json, message, name, statusCode } = error as EngineError;
  const text = json?.message ?? message;
  if (statusCode === 404 && /no such image/i.test(text)) return imageNotFound(image, error);
  if (statusCode !== undefined && /bind source path does not exist|statfs .*: no such file/i.test(text)) {
    return new BudgieError(
      "WORKSPACE_INVALID",
      `The engine does not find a directory of the host: ${text}. Check that it still exists.`,
      {
        cause: error,
      },
    );
  }
  if (statusCode !== undefined) {
    return new BudgieError(
      "RUNNER_UNAVAILABLE",
      `The engine refused (HTTP ${statusCode}): ${text}. "budgie doctor" says more.`,
      { cause: error },
    );
  }
  if (name === "TimeoutError" || name === "AbortError" || code === "ABORT_ERR") {
    return new BudgieError("RUNNER_UNAVAILABLE", `The engine did not answer in time. Check it, or restart it.`, {
      cause: error,
    });
  }
  if (code !== undefined && UNREACHABLE.has(code)) {
    return new BudgieError("RUNNER_UNAVAILABLE", `The engine cannot be reached any more (${code}). Start it again.`, {
      cause: error,
    });
  }
  return error;
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "EACCES",
  "ETIMEDOUT",
]);

/** The error of an image that the engine does not have. */
export function imageNotFound(image: string, cause?: unknown): BudgieError {
  return new BudgieError(
    "IMAGE_NOT_FOUND",
    `The sandbox image "${image}" is not on the engine. Build it with "budgie build-image", or name another with --sandbox-image.`,
    { cause },
  );
}
