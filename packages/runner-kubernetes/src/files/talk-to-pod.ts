import { BudgieError } from "@budgie/core";
import type { PodRequest } from "../requests/index.ts";
import { CLOCK, type Clock, type Wire, type WireStream } from "../wire/index.ts";

/** A request to a Pod with more than a short answer. */
export type PodTalk = {
  readonly wire: Wire;
  readonly request: PodRequest;
  readonly clock?: Clock | undefined;
  /** Ends it for its reason */
  readonly signal?: AbortSignal | undefined;
};

const CHECK_MS = 1_000;
const SILENCE_MS = 60_000;
const MOST_MS = 600_000;

/**
 * Opens a stream for a request, and passes it to `use`, with a function to call for each piece that the Pod took or gave. Both halves fail
 * with `RUNNER_UNAVAILABLE` if that is not called for a minute, or `use` takes more than ten, and
 * with the reason of a signal that aborts.
 */
export async function talkToPod<T>(
  { clock = CLOCK, request, signal, wire }: PodTalk,
  use: (stream: WireStream, tick: () => void) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const stream = wire.open(request);
  const beganAt = clock.now();
  let heardAt = beganAt;
  const fail = (error: Error): void => {
    for (const half of [stream.input, stream.output]) half.destroy(error);
  };
  const stopChecking = clock.every(CHECK_MS, () => {
    const now = clock.now();
    if (now - heardAt > SILENCE_MS) fail(slowError(`did not respond for ${SILENCE_MS / 1_000} seconds`));
    else if (now - beganAt > MOST_MS) fail(slowError(`took more than ${MOST_MS / 60_000} minutes for a file`));
  });
  const cancel = (): void => fail(signal?.reason as Error);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    return await use(stream, () => (heardAt = clock.now()));
  } catch (error) {
    fail(error as Error);
    // The abort is the reason for whatever breaks after it.
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", cancel);
    stopChecking();
  }
}

function slowError(what: string): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", `The Pod ${what}. Check the cluster, or begin a new session.`);
}
