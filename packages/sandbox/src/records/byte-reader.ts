import { BudgieError } from "@budgie/core";

/** A reader of bytes by their number. */
export type ByteReader = {
  /** Resolves to exactly this number of bytes */
  readonly take: (length: number) => Promise<Buffer>;
  /** Yields exactly this number of bytes */
  readonly pieces: (length: number) => AsyncGenerator<Buffer>;
};

/** Creates the reader of a source. It rejects if that ends early. */
export function createByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const chunks = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  async function* pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      if (held.length === 0) {
        const next = await chunks.next();
        if (next.done === true) throw endedEarly();
        held = next.value;
      }
      const piece = held.subarray(0, left);
      held = held.subarray(piece.length);
      left -= piece.length;
      if (piece.length > 0) yield piece;
    }
  }

  return { take: async (length) => Buffer.concat(await collect(pieces(length))), pieces };
}

async function collect(pieces: AsyncIterable<Buffer>): Promise<readonly Buffer[]> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

function endedEarly(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "The records of the copy ended early. Try again.");
}
