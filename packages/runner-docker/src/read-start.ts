/** Reads the first `maxBytes` of a source, and leaves the rest. */
export async function readStart(source: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  for await (const chunk of source) {
    chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
    if (room === 0) break;
  }
  return Buffer.concat(chunks);
}
