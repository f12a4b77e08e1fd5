import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
  type Stats,
} from "node:fs";

// A thousand times the size of usual files of settings, and still small.
const LARGEST_BYTES = 2 ** 20;

/** The content of a file, and its facts from when it was open. */
export type PlainFile = { readonly text: string; readonly stats: Stats };

/** Throws for a file, by its real path, that an agent may have written. */
type Check = (path: string, bytes: Uint8Array) => void;

// One for the process: what budgie reads as configuration is checked wherever it is read.
let trust: { readonly check: Check } | undefined;

/** Has all that is read from now on checked. A program does so once it knows its state directory. */
export function checkFilesBy(by: { readonly check: Check } | undefined): void {
  trust = by;
}

/** Throws if what was read of an open file may be an agent's work. */
export function checkRead(descriptor: number, path: string, bytes: Uint8Array): void {
  trust?.check(findRealPath(descriptor, path), bytes);
}

/** Returns the path of the file that was opened, even if the name leads elsewhere by now, where the system tells. */
function findRealPath(descriptor: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return realpathSync.native(path);
  }
}

/**
 * Reads a file of at most 1 MiB, following symlinks. Throws for anything but a plain file, since reading a pipe or a device can block for ever
 * or have side effects, and for a file that an agent may have written.
 */
export function readPlainFile(path: string): PlainFile {
  const { bytes, realPath, stats } = readUnchecked(path);
  trust?.check(realPath, bytes);
  return { text: bytes.toString("utf8"), stats };
}

/** Reads a file like {@link readPlainFile}, also one that an agent may have written. */
export function readUnchecked(path: string) {
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
    return { bytes: buffer.subarray(0, length), realPath: findRealPath(file, path), stats };
  } finally {
    closeSync(file);
  }
}

function checkPlainFile(stats: Stats): void {
  if (!stats.isFile()) throw new Error("it is not a file");
  if (stats.size > LARGEST_BYTES) throw new Error(`it is larger than ${LARGEST_BYTES / 2 ** 20} MiB`);
}
