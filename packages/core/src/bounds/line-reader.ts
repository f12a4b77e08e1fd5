/** Creates a reader of chunks that calls `onLine` with each line. At a line of more than `maxBytes` it calls `onTooLong`, and stops. */
export function createLineReader({ maxBytes, onLine, onTooLong }: LineReaderOptions): (chunk: Buffer) => number {
  let parts: Buffer[] = [];
  let length = 0;
  let isDone = false;

  function add(part: Buffer): void {
    // A copy, since a short piece would keep its whole chunk in memory.
    parts.push(Buffer.from(part));
    if (parts.length === MOST_PARTS) parts = [Buffer.concat(parts)];
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
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) {
        if (start < chunk.length) add(chunk.subarray(start));
        return lines;
      }
      add(chunk.subarray(start, end));
      if (isDone) return lines;
      const line = Buffer.concat(parts);
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
// A line in tiny pieces would cost far more memory than its bytes.
const MOST_PARTS = 1024;
