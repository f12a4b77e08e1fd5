import { addPiece } from "./add-piece.ts";

/** Creates a reader of chunks that calls `onLine` with each line. At a line of more than `maxBytes` it calls `onTooLong`, and stops. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): (chunk: Buffer) => number {
  let parts: Buffer[] = [];
  let length = 0;
  let isDone = false;

  function add(part: Buffer): void {
    // A copy, since a short piece would keep its whole chunk in memory.
    addPiece(parts, Buffer.from(part));
    length += part.length;
    if (length <= maxBytes) return;
    isDone = true;
    parts = [];
    onTooLong();
  }

  /** Reads a chunk, and returns the number of lines that ended in it. */
  return (chunk) => {
    let start = 0;
    let lines = 0;
    while (!isDone) {
      // Asked first, since a search costs more than an empty line is worth.
      const end = chunk[start] === NEWLINE ? start : chunk.indexOf(NEWLINE, start);
      if (end === -1) {
        if (start < chunk.length) add(chunk.subarray(start));
        return lines;
      }
      if (end > start) add(chunk.subarray(start, end));
      if (isDone) return lines;
      const [whole = NOTHING, ...more] = parts;
      const line = more.length === 0 ? whole : Buffer.concat(parts);
      parts = [];
      length = 0;
      start = end + 1;
      lines += 1;
      onLine(line);
    }
    return lines;
  };
}

type LineReaderOptions = {
  readonly maxBytes: number;
  readonly onLine: (line: Buffer) => void;
  readonly onTooLong: () => void;
};

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);
