import { tooMuch } from "./send.ts";

// Answers come in artifacts, which may hold whole documents.
const LARGEST_EVENT_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Yields the data of the events of a `text/event-stream`. Throws `AGENT_FAILED` for an event of more than 4 MiB. */
export async function* readEvents(chunks: AsyncIterable<Buffer>, who: string): AsyncGenerator<string, undefined> {
  let data: string[] = [];
  let bytes = 0;
  for await (const line of readLines(chunks, who)) {
    if (line.length === 0) {
      if (data.length > 0) yield data.join("\n");
      [data, bytes] = [[], 0];
      continue;
    }
    const text = line.toString("utf8");
    // Other lines are comments, or fields that A2A does not use.
    if (!text.startsWith("data:")) continue;
    bytes += line.length;
    if (bytes > LARGEST_EVENT_BYTES) throw tooMuch(who, LARGEST_EVENT_BYTES);
    data.push(text.slice(text.startsWith("data: ") ? 6 : 5));
  }
  return undefined;
}

async function* readLines(chunks: AsyncIterable<Buffer>, who: string): AsyncGenerator<Buffer, undefined> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield withoutReturn(Buffer.concat([...pieces, chunk.subarray(start, end)]));
      [pieces, bytes, start] = [[], 0, end + 1];
    }
    bytes += chunk.length - start;
    if (bytes > LARGEST_EVENT_BYTES) throw tooMuch(who, LARGEST_EVENT_BYTES);
    if (start < chunk.length) pieces.push(Buffer.from(chunk.subarray(start)));
    if (pieces.length >= 1024) pieces = [Buffer.concat(pieces)];
  }
  return undefined;
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
}
