import type { IncomingMessage } from "node:http";

/** Reads the body of a request; `undefined` if it exceeds the limit. The rest of it is discarded. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostBytes) {
      // A client that is still writing would not read the response.
      request.resume();
      return undefined;
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
