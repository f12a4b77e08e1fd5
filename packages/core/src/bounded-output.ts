import type { Readable } from "node:stream";

/** What a stream said, as far as it was kept. */
export type BoundedOutput = {
  readonly text: string;
  /** True when the stream said more than was kept */
  readonly truncated: boolean;
};

/**
 * Reads a stream to its end and keeps the first `maxBytes`; the rest is read and dropped, so that the writer never blocks.
 * `onChunk` is called after each piece, with what to call for the text so far.
 */
export async function readBounded(
  stream: Readable,
  maxBytes: number,
  onChunk?: (soFar: () => string) => void,
): Promise<BoundedOutput> {
  const kept: Buffer[] = [];
  let total = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const room = maxBytes - total;
    if (room > 0) kept.push(chunk.subarray(0, room));
    total += chunk.length;
    onChunk?.(() => Buffer.concat(kept).toString("utf8"));
  }
  const truncated = total > maxBytes;
  // As if more were to come: a character that the limit cut in two is left out.
  return { text: new TextDecoder().decode(Buffer.concat(kept), { stream: truncated }), truncated };
}
