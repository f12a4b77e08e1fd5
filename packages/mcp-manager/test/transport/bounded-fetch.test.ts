import { expect, it } from "vitest";
import { JSON_BOUNDS } from "@budgie/core/bounds";
import { LIMITS } from "../../src/bounds/limits.ts";
import { createBoundedFetch } from "../../src/transport/bounded-fetch.ts";

const STREAM = "text/event-stream";

/** Reads a stream of events that a server sends in these chunks, and returns its length. */
async function read(chunks: readonly string[], accept = STREAM): Promise<number> {
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
  return (await response.arrayBuffer()).byteLength;
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
  await expect(read(Array.from({ length: 6 }, () => [LONG, end[0]]).flat())).rejects.toThrow("of more than");
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
  const body = new Response(event.repeat(120), { headers: { "content-type": STREAM } });
  const url = "http://127.0.0.1/";
  const options = { url, headers: {}, timeoutMs: 60_000, onTooLarge: () => undefined };
  const fetch = createBoundedFetch({ ...options, fetch: async () => body });
  const response = await fetch(url, { headers: { accept: STREAM } });
  const pieces: number[] = [];

  for await (const piece of response.body ?? []) pieces.push(piece.length / event.length);

  expect(pieces).toEqual([50, 50, 20]);
});

it("Events are read no faster than messages of a process", async () => {
  const event = "data: 1\n\n";
  const began = performance.now();
  await read([event.repeat(LIMITS.messages.burst + LIMITS.messages.perSecond / 5)]);

  // The reader pauses for 200 ms.
  expect(performance.now() - began).toBeGreaterThan(100);
});
