import { createHash } from "node:crypto";

/**
 * Hashes content of exactly `size` bytes; `undefined` if it has another size. Reads no more than one piece beyond it. `onPiece` gets each piece
 * that was read.
 */
export async function hashContent(
  content: AsyncIterable<Uint8Array>,
  size: number,
  onPiece: (piece: Uint8Array) => void = () => undefined,
): Promise<string | undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    onPiece(piece);
    if (bytes > size) return undefined;
    hash.update(piece);
  }
  return bytes === size ? hash.digest("hex") : undefined;
}
