import type { IncomingMessage } from "node:http";

/** What a request brought along; `undefined` if that is more than the limit, of which the rest is thrown away. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostBytes) {
      // Who still writes would not read the answer.
      request.resume();
      return undefined;
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
