import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import type { WireStream } from "./wire-stream.ts";

/** Sends a file's content, and then its length and SHA-256, by which the other end knows that it is whole. */
export async function sendFile(stream: WireStream, content: AsyncIterable<Buffer>): Promise<void> {
  const hash = createHash("sha256");
  let bytes = 0;
  async function* measure(): AsyncGenerator<Buffer> {
    for await (const piece of content) {
      hash.update(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  await pipeline(measure(), stream.output, { end: false });
  stream.end({ bytes, sha256: hash.digest("hex") });
}
