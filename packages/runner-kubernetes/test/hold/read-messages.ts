import type { Readable } from "node:stream";

/** A message of `hold`. */
export type Message = { readonly kind: string; readonly payload: Buffer };

const HEADER = 8;

/** Reads messages until the socket ends. */
export async function* readMessages(socket: Readable): AsyncGenerator<Message, void> {
  let chunks: Buffer[] = [];
  let length = 0;
  let wanted = HEADER;
  for await (const chunk of socket) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length < wanted) continue;
    let bytes = Buffer.concat(chunks);
    for (wanted = sizeOf(bytes); bytes.length >= wanted; wanted = sizeOf(bytes)) {
      yield { kind: String.fromCharCode(bytes[0] ?? 0), payload: bytes.subarray(HEADER, wanted) };
      bytes = bytes.subarray(wanted);
    }
    chunks = [bytes];
    length = bytes.length;
  }
}

function sizeOf(bytes: Buffer): number {
  return bytes.length < HEADER ? HEADER : HEADER + bytes.readUInt32LE(4);
}
