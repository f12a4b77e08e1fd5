import { createHash } from "node:crypto";

/** Hashes content of exactly `size` bytes; `undefined` if it has another size. Reads no more than one piece beyond it. */
export async function hashContent(content: AsyncIterable<Uint8Array>, size: number): Promise<string | undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > size) return undefined;
    hash.update(piece);
  }
  return bytes === size ? hash.digest("hex") : undefined;
}
