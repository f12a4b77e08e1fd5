/** Reads the first `maxBytes` of a source, and ignores the rest. */
export async function readStart(source: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of takeStart(source, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Yields the first `maxBytes` of a source, chunk by chunk. */
export async function* takeStart(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let room = maxBytes;
  for await (const chunk of source) {
    yield chunk.subarray(0, room);
    room -= Math.min(room, chunk.length);
    if (room === 0) break;
  }
}
