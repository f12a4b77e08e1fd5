import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";

// A thousand times the size of usual files of settings, and still small.
const LARGEST_BYTES = 2 ** 20;

/** The content of a file, and its facts from when it was open. */
export type PlainFile = { readonly text: string; readonly stats: Stats };

/**
 * Reads a file of at most 1 MiB, following symlinks. Throws for anything but a plain file, since reading a pipe or a device can block for ever
 * or have side effects.
 */
export function readPlainFile(path: string): PlainFile {
  checkPlainFile(statSync(path));
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    checkPlainFile(stats);
    const buffer = Buffer.allocUnsafe(stats.size);
    let length = 0;
    for (let count = -1; count !== 0 && length < buffer.length; length += count) {
      count = readSync(file, buffer, length, buffer.length - length, null);
    }
    return { text: buffer.toString("utf8", 0, length), stats };
  } finally {
    closeSync(file);
  }
}

function checkPlainFile(stats: Stats): void {
  if (!stats.isFile()) throw new Error("it is not a file");
  if (stats.size > LARGEST_BYTES) throw new Error(`it is larger than ${LARGEST_BYTES / 2 ** 20} MiB`);
}
