import { createParser } from "eventsource-parser";
import { expect, it } from "vitest";
import { JSON_BOUNDS } from "@budgie/core/bounds";
import { LIMITS } from "../../src/bounds/limits.ts";
import { createBoundedFetch } from "../../src/transport/bounded-fetch.ts";

const STREAM = "text/event-stream";

/** Reads a stream of events that a server sends in these chunks, and returns its length. */
async function read(chunks: readonly string[], accept = STREAM): Promise<number> {
  return (await readPieces(chunks, accept)).join("").length;
}

/** Reads the pieces of such a stream. */
async function readPieces(chunks: readonly string[], accept = STREAM): Promise<readonly string[]> {
  const body = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));
  const url = "http://127.0.0.1/";
  const fetch = createBoundedFetch({
    url,
    headers: {},
    timeoutMs: 60_000,
    onTooLarge: () => undefined,
    fetch: async () => new Response(body as ReadableStream<Uint8Array>, { headers: { "content-type": STREAM } }),
  });
  const response = await fetch(url, { headers: { accept } });
  const pieces: string[] = [];
  for await (const piece of response.body ?? []) pieces.push(Buffer.from(piece).toString("latin1"));
  return pieces;
}

const LONG = `data: ${"x".repeat(LIMITS.messageBytes / 4)}`;

it.each([
  ["\n", "\n"],
  ["\r", "\r"],
  ["\r\n", "\r\n"],
  ["\r\n\r", "\n"],
  ["\r", "\n\r\n"],
  ["\r\n", "\n"],
])("A stream of events is bounded in each of them, also if %j and %j end one", async (...end) => {
  const event = [LONG, ...end];

  expect(await read(Array.from({ length: 6 }, () => event).flat())).toBe(6 * event.join("").length);
});

it.each(["\n", "\r", "\r\n"])("A stream of lines that end with %j is one event without an empty line", async (end) => {
  await expect(read(Array.from({ length: 6 }, () => [LONG, end]).flat())).rejects.toThrow("of more than");
});

it("A message of too many values is refused before anybody parses it, also one in many chunks", async () => {
  const many = `data: {"tools":[${"{},".repeat(JSON_BOUNDS.values / 2)}{}]}\n\n`;
  const half = many.length / 2;

  await expect(read([many])).rejects.toThrow("more than 50000 values");
  await expect(read([many.slice(0, half), many.slice(half)])).rejects.toThrow("more than 50000 values");
  expect(await read([many.slice(0, half), "\n\n", many.slice(half)])).toBe(many.length + 2);
});

it("An answer that is not read as a stream is one message, although its server calls it a stream", async () => {
  const part = `${"{},".repeat(JSON_BOUNDS.values / 4)}\n\n`;

  await expect(read([part, part, part], "application/json")).rejects.toThrow("more than 50000 values");
  expect(await read([part, part, part])).toBe(3 * part.length);
});

it("A chunk of many events is passed on in pieces", async () => {
  const event = "data: 1\n\n";

  const pieces = await readPieces([event.repeat(120)]);

  expect(pieces.map(({ length }) => length / event.length)).toEqual([50, 50, 20]);
});

const LINE_ENDS = ["\n", "\r", "\r\n"];

it.each(
  LINE_ENDS.flatMap((line) => LINE_ENDS.map((empty) => [line, empty] as const)).filter(
    // Together they are one line end.
    (pair) => pair.join("") !== "\r\n",
  ),
)(
  "The SDK's parser gets at most 50 events at once, also if %j and %j end one, wherever chunks end",
  async (line, empty) => {
    const events = `data: 1${line}${empty}`.repeat(200);
    const half = Math.floor(events.length / 2);
    const counts: number[] = [];
    let atOnce = 0;
    const parser = createParser({ onEvent: () => void (atOnce += 1) });

    for (const piece of await readPieces([events.slice(0, half), events.slice(half), "\n\n"])) {
      atOnce = 0;
      parser.feed(piece);
      counts.push(atOnce);
    }

    expect(counts.reduce((sum, count) => sum + count)).toBe(200);
    // An event that ends with a carriage return is told with the next piece.
    expect(Math.max(...counts)).toBeLessThanOrEqual(51);
  },
);

it("Events are read no faster than messages of a process", async () => {
  const event = "data: 1\n\n";
  const began = performance.now();
  await read([event.repeat(LIMITS.messages.burst + LIMITS.messages.perSecond / 5)]);

  // The reader pauses for 200 ms.
  expect(performance.now() - began).toBeGreaterThan(100);
});

it("Values are read no faster than those of a process", async () => {
  const event = `data: {"tools":[${"{},".repeat(24_000)}{}]}\n\n`;
  const { perSecond, burst } = LIMITS.values;
  const began = performance.now();
  await read([event.repeat(Math.ceil((burst + perSecond) / 48_000))]);

  // The reader pauses for a second.
  expect(performance.now() - began).toBeGreaterThan(700);
});
