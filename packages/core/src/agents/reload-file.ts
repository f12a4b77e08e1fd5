import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";

/** A file as it was last looked at. */
export type LoadedFile<Value> = {
  /** Of its last content that could be used; `undefined` if there was none, or the file is gone */
  readonly value: Value | undefined;
  /** Why its content of the moment cannot be used, in one line */
  readonly problem: string | undefined;
  /** Tells one content from the next; `undefined` if there is no file */
  readonly stamp: string | undefined;
  /** Only while the next change could come with the same stamp */
  readonly text: string | undefined;
};

/** The stamp of what cannot be read; of no file, so that it is tried again. */
export const UNREADABLE = "";

// A thousand times what people write, and no harm to memory.
const LARGEST_BYTES = 2 ** 20;
// Some file systems count time in steps of 2 s.
const STAMP_STEP_MS = 2_000;

/** Loads a file, or tells that it is still what it was `before`; what cannot be used leaves the last value as it is. */
export function reloadFile<Value>(
  path: string,
  parse: (text: string) => Value,
  before?: LoadedFile<Value>,
): LoadedFile<Value> {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return MISSING;
    if (before?.text === undefined && before?.stamp === toStamp(found)) return before;
    return toLoaded(readText(path, found), parse, before);
  } catch (error) {
    return { value: before?.value, problem: toReason(error), stamp: UNREADABLE, text: undefined };
  }
}

const MISSING = { value: undefined, problem: undefined, stamp: undefined, text: undefined };

type Content = Pick<LoadedFile<unknown>, "text"> & { readonly stamp: string; readonly read: string };

function toLoaded<Value>(
  { read, stamp, text }: Content,
  parse: (text: string) => Value,
  before: LoadedFile<Value> | undefined,
): LoadedFile<Value> {
  if (before?.text === read) return { ...before, stamp, text };
  try {
    return { value: parse(read), problem: undefined, stamp, text };
  } catch (error) {
    return { value: before?.value, problem: toReason(error), stamp, text };
  }
}

function readText(path: string, found: Stats): Content {
  // To open a pipe or a device can wait for ever, or do something.
  refuseOdd(found);
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const opened = fstatSync(file);
    refuseOdd(opened);
    const buffer = Buffer.alloc(opened.size);
    let length = 0;
    for (let count = -1; count !== 0 && length < buffer.length; length += count) {
      count = readSync(file, buffer, length, buffer.length - length, null);
    }
    const read = buffer.toString("utf8", 0, length);
    const isNew = Date.now() - opened.ctimeMs < STAMP_STEP_MS;
    return { read, stamp: toStamp(opened), text: isNew ? read : undefined };
  } finally {
    closeSync(file);
  }
}

function refuseOdd(stats: Stats): void {
  if (!stats.isFile()) throw new Error("it is not a file");
  if (stats.size > LARGEST_BYTES) throw new Error(`it is larger than ${LARGEST_BYTES / 2 ** 20} MiB`);
}

function toStamp({ ctimeMs, dev, ino, mtimeMs, size }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join();
}

/** In one line: JSON's error messages quote the text they are about. */
function toReason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ");
}
