import { BudgieError, formatOption } from "@budgie/core";

type EngineError = Error & {
  readonly code?: string;
  readonly statusCode?: number;
  readonly json?: { readonly message?: string };
};

/** Returns the HTTP status of an engine's error response; `undefined` for any other error. */
export function statusOf(error: unknown): number | undefined {
  return (error as EngineError).statusCode;
}

/** Ignores the error of a removal that finds nothing, and rethrows any other. */
export function ignoreMissing(error: unknown): void {
  // Podman 4 answers with HTTP 500 if something else removes the same volume at that moment.
  const isMissing = statusOf(error) === 404 || (statusOf(error) === 500 && textOf(error).includes("no such volume"));
  if (!isMissing) throw error;
}

/** Returns true if a container's name is taken: Docker answers with HTTP 409, Podman with 500. */
export function isNameTaken(error: unknown): boolean {
  return statusOf(error) !== undefined && /\bname\b.{1,200}\bis already in use by\b/.test(textOf(error));
}

/** Returns true if Podman 4 refused a removal because the container was ending by itself. */
export function isEnding(error: unknown): boolean {
  return statusOf(error) === 500 && textOf(error).includes("container state improper");
}

/** Translates errors of the engine, the connection and the disk. Returns unknown errors unchanged. */
export function toBudgieError(error: unknown, image: string): unknown {
  if (error instanceof BudgieError || !(error instanceof Error)) return error;
  return statusOf(error) === undefined ? fromConnection(error) : fromRefusal(error, image);
}

/** Awaits a call to the engine, and translates its error. */
export function translated<T>(call: Promise<T>, image: string): Promise<T> {
  return call.catch((error: unknown) => {
    throw toBudgieError(error, image);
  });
}

function fromRefusal(cause: EngineError, image: string): BudgieError {
  const text = textOf(cause);
  if (/no such image/i.test(text)) return imageNotFound(image, cause);
  if (/bind source path does not exist/i.test(text) || (/statfs /i.test(text) && /: no such file/i.test(text))) {
    const message = `The engine does not find a directory of the host: ${text}. Check that it still exists.`;
    return new BudgieError("WORKSPACE_INVALID", message, { cause });
  }
  if (NO_INIT.test(text)) {
    const message =
      `The engine lacks its init program: ${text}. Install it where the engine runs: for Podman ` +
      `the package "catatonit", such as with "sudo apt install catatonit".`;
    return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
  }
  const message = `The engine refused (HTTP ${cause.statusCode}): ${text}. "budgie doctor" says more.`;
  return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
}

// The wording of Podman 4 and 5.
const NO_INIT = /container-init binary not found|lookup init binary/;

function textOf(error: unknown): string {
  const { json, message } = error as EngineError;
  return json?.message ?? message;
}

// Codes of the file system, and of SQLite when it copies a login.
const NO_ROOM: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "SQLITE_FULL"]);
const NO_ANSWER: ReadonlySet<string> = new Set(["TimeoutError", "AbortError"]);

/** Returns true if the engine did not answer a call. Looks through translated errors too. */
export function hasNoAnswer(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return NO_ANSWER.has(error.name) || hasNoAnswer(error.cause);
}

const LOST: ReadonlySet<string> = new Set(["ECONNREFUSED", "ECONNRESET", "ENOENT", "EPIPE", "EACCES", "ETIMEDOUT"]);

function fromConnection(cause: EngineError): Error {
  if (NO_ANSWER.has(cause.name)) {
    return new BudgieError("RUNNER_UNAVAILABLE", "The engine did not answer in time. Check it, or restart it.", {
      cause,
    });
  }
  if (NO_ROOM.has(cause.code ?? "")) {
    const message = `budgie cannot write its own files (${cause.code}). Make room, or choose another place with ${formatOption("stateDir")}.`;
    return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
  }
  if (!LOST.has(cause.code ?? "")) return cause;
  const message = `The engine cannot be reached any more (${cause.code}). Start it again.`;
  return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
}

/** Creates the error for an image that the engine does not have. */
export function imageNotFound(image: string, cause?: unknown): BudgieError {
  // Only the images of projects are known by their ids.
  const command = image.startsWith("sha256:") ? "image build" : "build-image";
  return new BudgieError(
    "IMAGE_NOT_FOUND",
    `The sandbox image "${image}" is not on the engine. ` +
      `Build it with "budgie ${command}", or name another with ${formatOption("image")}.`,
    { cause },
  );
}
