import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { PodRequest, Volume } from "../requests/index.ts";
import { awaitAnswer } from "../session/ask-pod.ts";
import type { Wire } from "../wire/index.ts";

/** Records that fill a volume from nothing. */
export type VolumeFill = {
  readonly volume: Volume;
  readonly records: Readable;
  /** True if they are as a volume was packed */
  readonly isPacked?: true | undefined;
  /** The id by which the Pod knows that its copy is this one */
  readonly fillId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

// Emptying what was there may take the Pod ten of these minutes.
const LIMIT_MS = 30 * 60_000;
// The time in which records go on after the Pod has said that all are there.
const REST_MS = 10_000;

/** Fills a volume in which no process works. Unless it resolves, the volume has to be filled again. */
export async function fillVolume(wire: Wire, { records, signal, ...request }: VolumeFill): Promise<void> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  const given = AbortSignal.any([limit, ...(signal === undefined ? [] : [signal])]);
  const stream = wire.open({ ...request, purpose: "file", act: "fill" } satisfies PodRequest);
  const over = new AbortController();
  let rest: NodeJS.Timeout | undefined;
  const answered = awaitAnswer(stream);
  // A Pod that has answered takes no more, whatever it said.
  answered.then(
    () => (rest = setTimeout(() => over.abort(), REST_MS).unref()),
    () => over.abort(),
  );
  stream.input.resume();
  try {
    await pipeline(records, stream.output, { signal: AbortSignal.any([given, over.signal]) });
    await orAborted(answered, given);
  } catch (error) {
    stream.input.destroy();
    if (limit.aborted) throw lateError();
    if (given.aborted) throw given.reason instanceof BudgieError ? given.reason : cancelledError();
    // The Pod's own words say more than a stream that broke.
    if (over.signal.aborted) await answered;
    throw error;
  } finally {
    clearTimeout(rest);
  }
}

function cancelledError(): BudgieError {
  return new BudgieError("CANCELLED", "The turn was cancelled while a volume of its Pod was filled.");
}

function lateError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `A volume of the Pod was not filled within ${LIMIT_MS / 60_000} minutes. Check the cluster, and try again.`,
  );
}
