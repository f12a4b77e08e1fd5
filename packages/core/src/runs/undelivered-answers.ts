import type { UndeliveredAnswer } from "../errors.ts";
import type { FinishedRun } from "./run-log.ts";

// Clients close the connection on a message of 10 MiB, and each answer is in the message twice.
const MOST_BYTES = 1024 * 1024;

/** Returns the first answers of these turns that fit into one message, and at least one. The next message has the rest. */
export function toUndeliveredAnswers(
  runs: Iterable<Pick<FinishedRun, "endedMs" | "id"> & { readonly answer: string }>,
): readonly UndeliveredAnswer[] {
  const missed: UndeliveredAnswer[] = [];
  let bytes = 0;
  for (const { answer, endedMs, id } of runs) {
    bytes += Buffer.byteLength(answer);
    if (missed.length > 0 && bytes > MOST_BYTES) break;
    missed.push({ runId: id, response: answer, when: new Date(endedMs).toISOString() });
  }
  return missed;
}
