import type { Readable } from "node:stream";
import { addPiece } from "../bounds/add-piece.ts";
import type { OutputFile, OutputFiles } from "./output-files.ts";

/** The output of a stream, as far as it was kept. */
export type BoundedOutput = {
  /** The output. If it is too long, its beginning and end, with a line between them that counts the omitted bytes */
  readonly text: string;
  /** The size of the output */
  readonly bytes: number;
  /** True if `text` is not all of it */
  readonly truncated: boolean;
  /**
   * The host file with the output, up to the file's maximal size; `undefined` if `text` is not truncated, or the file could not be written
   */
  readonly file: string | undefined;
};

export type BoundedOptions = {
  /** The size of the beginning that is kept in memory, and of the end */
  readonly heldBytes: number;
  /** The files for longer outputs; if left out, their middle is discarded */
  readonly files?: OutputFiles | undefined;
  /** Called after each chunk, with the chunk and a function that returns the text so far */
  readonly onChunk?: ((chunk: Buffer, soFar: () => string) => void) | undefined;
};

/**
 * Reads a stream to its end, so that the writer never blocks for long. Keeps its beginning and its end in memory, and writes longer
 * output to a file.
 */
export async function readBounded(stream: Readable, options: BoundedOptions): Promise<BoundedOutput> {
  const { files, heldBytes, onChunk } = options;
  const head: Buffer[] = [];
  const tail = createTail(heldBytes);
  let file: OutputFile | undefined;
  let bytes = 0;
  let headBytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const isSpilling = bytes + chunk.length > 2 * heldBytes;
    // Everything before this chunk is still in memory.
    if (isSpilling && file === undefined && files !== undefined) {
      file = files.open();
      for (const held of [...head, ...tail.chunks()]) await file.write(held);
    }
    await file?.write(chunk);
    const early = chunk.subarray(0, Math.max(0, heldBytes - headBytes));
    if (early.length > 0) addPiece(head, early);
    headBytes += early.length;
    tail.add(chunk.subarray(early.length));
    bytes += chunk.length;
    onChunk?.(chunk, () => Buffer.concat(head).toString("utf8"));
  }
  const path = await file?.close();
  const leftOut = bytes - headBytes - tail.bytes();
  const text = decodeOutput({ head: Buffer.concat(head), tail: Buffer.concat(tail.chunks()), leftOut });
  return { text, bytes, truncated: leftOut > 0, file: path };
}

/** The most bytes of an agent's output that are kept for a person: in memory while it runs, and in the run log if that is asked for. */
export const TRANSCRIPT_BYTES = 256 * 1024;

/** A buffer of the last bytes of a stream. */
export type Tail = {
  add(chunk: Buffer): void;
  chunks(): readonly Buffer[];
  bytes(): number;
  /** Returns the bytes as text, after a line that counts the discarded ones */
  text(): string;
};

/** Creates a buffer that keeps the last bytes. */
export function createTail(maxBytes: number): Tail {
  let chunks: Buffer[] = [];
  let total = 0;
  let seen = 0;
  const kept = (): Buffer => Buffer.concat(chunks).subarray(-maxBytes);
  return {
    add(chunk) {
      if (chunk.length === 0) return;
      addPiece(chunks, chunk);
      total += chunk.length;
      seen += chunk.length;
      // Truncates now and then, so that many small chunks cost no more than a few large ones.
      if (total <= 2 * maxBytes) return;
      chunks = [Buffer.from(kept())];
      total = chunks[0]?.length ?? 0;
    },
    chunks: () => (total <= maxBytes ? chunks : [kept()]),
    bytes: () => Math.min(total, maxBytes),
    text() {
      const dropped = seen - Math.min(total, maxBytes);
      const text = kept().toString("utf8");
      return dropped === 0 ? text : `[budgie: ${dropped} bytes before this are not kept]\n${text}`;
    },
  };
}

type Kept = { readonly head: Buffer; readonly tail: Buffer; readonly leftOut: number };

function decodeOutput({ head, leftOut, tail }: Kept): string {
  if (leftOut === 0) return Buffer.concat([head, tail]).toString("utf8");
  // Drops the incomplete characters on both sides of the omitted bytes.
  const beginning = new TextDecoder().decode(head, { stream: true });
  const end = tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80)).toString("utf8");
  return `${beginning}\n[budgie: ${leftOut} bytes are left out here]\n${end}`;
}
