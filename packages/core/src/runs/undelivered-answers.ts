import type { UndeliveredAnswer } from "../errors.ts";

/** The undelivered answers of a session that one message brings, the oldest first. */
export type UndeliveredAnswers = {
  readonly missed: readonly UndeliveredAnswer[];
  /** The number of those that wait for a later message */
  readonly moreMissed: number;
};

/** The most answers in one message. */
export const MOST_MISSED = 8;
// The Python SDK ends the stream of a message over 1 MiB. Each answer is in it twice, and the turn's own, of up to 100 kB, too.
const MOST_BYTES = 200_000;

/** Returns the first answers that fit into one message beside the turn's own, and at least one. `further` wait besides them. */
export function chooseUndelivered(answers: readonly UndeliveredAnswer[], further = 0): UndeliveredAnswers {
  let bytes = 0;
  const beyond = answers.findIndex(({ response }, index) => {
    bytes += countJsonBytes(response);
    return index === MOST_MISSED || (index > 0 && bytes > MOST_BYTES);
  });
  const missed = beyond === -1 ? answers : answers.slice(0, beyond);
  return { missed, moreMissed: answers.length - missed.length + further };
}

/** Returns the size in a message, where quotation marks and line ends take two bytes. */
function countJsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
