import type { IncomingMessage } from "node:http";
import { addPiece } from "./add-piece.ts";
import type { ByteBudget } from "./byte-budget.ts";

export type BodyBounds = {
  readonly bytes: number;
  /** The bytes of all pending requests, to which the caller gives the body's back */
  readonly pending: ByteBudget;
};

/** Reads the body of a request. Discards it, and names the bound, if it exceeds one. */
export async function readBody(
  request: IncomingMessage,
  { bytes: most, pending }: BodyBounds,
): Promise<Buffer | keyof BodyBounds> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isWhole = false;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const excess = bytes + piece.length > most ? "bytes" : pending.tryTake(piece.length) ? undefined : "pending";
      if (excess !== undefined) {
        // A client that is still writing would not read the response.
        request.resume();
        return excess;
      }
      bytes += piece.length;
      // A client chooses the sizes of its pieces.
      addPiece(pieces, piece);
    }
    isWhole = true;
    return Buffer.concat(pieces);
  } finally {
    if (!isWhole) pending.giveBack(bytes);
  }
}
