import { pipeline } from "node:stream/promises";
import { BudgieError } from "@budgie/core";
import type { FilledEntry } from "@budgie/core/copies";
import { toRecords } from "@budgie/sandbox/records";
import { awaitAnswer } from "../session/ask-pod.ts";
import { talkToPod, type PodTalk } from "./talk-to-pod.ts";

/** The input of a request. */
export type PodInput = {
  /** Bytes before the records; default none */
  readonly list?: Buffer;
  readonly entries: AsyncIterable<FilledEntry>;
};

const JOINED_BYTES = 65_536;

/** Sends entries to a Pod as records, and resolves once it has said that all are there. */
export function sendEntries(talk: PodTalk, { entries, list }: PodInput): Promise<void> {
  return talkToPod(talk, async (stream, tick) => {
    stream.input.resume();
    const answered = new AbortController();
    const stop = (): void => answered.abort();
    stream.last.then(stop, stop);
    let isSent = false;
    async function* pieces(): AsyncGenerator<Buffer> {
      for await (const piece of join(list, toRecords(entries))) {
        tick();
        yield piece;
      }
      isSent = true;
    }
    try {
      await pipeline(pieces(), stream.output, { signal: answered.signal });
    } catch (error) {
      // A Pod that refuses an entry says so before it has all of them.
      if (!answered.signal.aborted) throw error;
    }
    await awaitAnswer(stream);
    if (!isSent) throw earlyError();
  });
}

/** Joins small pieces, of which each would be a frame. */
async function* join(first: Buffer | undefined, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = first === undefined ? [] : [first];
  let bytes = first?.length ?? 0;
  for await (const piece of pieces) {
    held.push(piece);
    bytes += piece.length;
    if (bytes < JOINED_BYTES) continue;
    yield Buffer.concat(held);
    [held, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(held);
}

function earlyError(): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    "The Pod said that it has all files before they were sent to it. Begin a new session.",
  );
}
