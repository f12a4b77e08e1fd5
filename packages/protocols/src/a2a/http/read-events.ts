import { setTimeout as sleep } from "node:timers/promises";
import { createLineReader, createRate } from "@budgie/core/bounds";
import { tooMuch } from "./send.ts";

// Answers come in artifacts, which may hold whole documents.
const LARGEST_EVENT_BYTES = 4 * 1024 * 1024;
const CARRIAGE_RETURN = 0x0d;

/** Yields the data of the events of a `text/event-stream`. Throws `AGENT_FAILED` for an event of more than 4 MiB. */
export async function* readEvents(chunks: AsyncIterable<Buffer>, who: string): AsyncGenerator<string, undefined> {
  const events: string[] = [];
  let data: string[] = [];
  let bytes = 0;
  let isTooLarge = false;
  const add = (line: Buffer): void => {
    if (line.length === 0) {
      if (data.length > 0) events.push(data.join("\n"));
      [data, bytes] = [[], 0];
      return;
    }
    // Other lines are comments, or fields that A2A does not use.
    if (!line.subarray(0, DATA.length).equals(DATA)) return;
    bytes += line.length;
    isTooLarge ||= bytes > LARGEST_EVENT_BYTES;
    const text = line.toString("utf8");
    if (!isTooLarge) data.push(text.slice(text.startsWith("data: ") ? 6 : 5));
  };
  const read = createLineReader({
    maxBytes: LARGEST_EVENT_BYTES,
    onLine: (line) => add(line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line),
    onTooLong: () => (isTooLarge = true),
  });
  const rate = createRate(LINES);
  for await (const chunk of chunks) {
    const waitMs = rate.take(read(chunk));
    yield* events.splice(0);
    if (isTooLarge) throw tooMuch(who, LARGEST_EVENT_BYTES);
    if (waitMs >= 1) await sleep(waitMs);
  }
  return undefined;
}

// A line without data costs as much time as one with it, and is in no other bound. An event has three or four.
const LINES = { perSecond: 20_000, burst: 100_000 };

const DATA = Buffer.from("data:");
