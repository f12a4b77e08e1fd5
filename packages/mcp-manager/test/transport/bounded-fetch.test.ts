import { expect, it } from "vitest";
import { LIMITS } from "../../src/bounds/limits.ts";
import { createBoundedFetch } from "../../src/transport/bounded-fetch.ts";

/** Reads a stream of events that a server sends in these chunks, and returns its length. */
async function read(chunks: readonly string[]): Promise<number> {
  const body = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));
  const url = "http://127.0.0.1/";
  const fetch = createBoundedFetch({
    url,
    headers: {},
    timeoutMs: 60_000,
    onTooLarge: () => undefined,
    fetch: async () =>
      new Response(body as ReadableStream<Uint8Array>, { headers: { "content-type": "text/event-stream" } }),
  });
  const response = await fetch(url);
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

it("Events are read no faster than messages of a process", async () => {
  const event = "data: 1\n\n";
  const began = performance.now();
  await read([event.repeat(LIMITS.messages.burst + LIMITS.messages.perSecond / 5)]);

  // The reader pauses for 200 ms.
  expect(performance.now() - began).toBeGreaterThan(100);
});
