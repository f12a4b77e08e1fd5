import { BudgieError, ERROR_CODES, type ErrorCode } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { escapeForTerminal } from "@budgie/core/text";
import type { PodRequest } from "../requests/index.ts";
import type { Wire, WireStream } from "../wire/index.ts";

/** The last value of an answer that is no error. */
export type PodAnswer = Readonly<Record<string, unknown>>;

const MOST_WORDS = 1_000;
const CONTROL_MS = 60_000;

/** Asks a Pod something short without input, and resolves to the last value of its answer. */
export async function askPod(wire: Wire, request: PodRequest, signal?: AbortSignal): Promise<PodAnswer> {
  const stream = wire.open(request);
  stream.end();
  stream.input.resume();
  const limit = AbortSignal.timeout(CONTROL_MS);
  try {
    return await orAborted(awaitAnswer(stream), signal === undefined ? limit : AbortSignal.any([limit, signal]));
  } catch (error) {
    stream.input.destroy();
    throw limit.aborted ? silentError() : error;
  }
}

/** Resolves to the last value of a stream. Rejects with the Pod's error, whose words are hostile. */
export async function awaitAnswer({ last }: Pick<WireStream, "last">): Promise<PodAnswer> {
  const value = await last;
  const { error } = value;
  if (error === undefined) return value;
  const { code, isBusy, message } = Object(error) as Readonly<Record<string, unknown>>;
  const known = ERROR_CODES.find((name): name is ErrorCode => name === code) ?? "RUNNER_UNAVAILABLE";
  const words = typeof message === "string" ? escapeForTerminal(message.slice(0, MOST_WORDS)) : "";
  const options = isBusy === true ? { cause: BUSY } : {};
  throw new BudgieError(known, words === "" ? NO_WORDS : words, options);
}

const BUSY = { isBusy: true } as const;
const NO_WORDS =
  "The Pod failed, and did not report why. Check that its image is of this version of budgie, and begin a new session.";

/** Tells if the Pod refused a request since a process runs in it. */
export function isBusyAnswer(error: unknown): boolean {
  return error instanceof BudgieError && error.cause === BUSY;
}

function silentError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod did not respond for ${CONTROL_MS / 1_000} seconds. Check the cluster, or begin a new session.`,
  );
}
