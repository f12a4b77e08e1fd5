import { statSync, type Stats } from "node:fs";
import { readPlainFile } from "../text/read-plain-file.ts";

/** A file as it was last loaded. */
export type LoadedFile<Value> = {
  /** The value of its last usable content; `undefined` if there was none, or the file was removed */
  readonly value: Value | undefined;
  /** The reason why its present content cannot be used, in one line */
  readonly problem: string | undefined;
  /** A stamp that changes with the content; `undefined` if there is no file */
  readonly stamp: string | undefined;
  /** The content, kept only while another change could still get the same stamp */
  readonly text: string | undefined;
};

/** The stamp of an unreadable file. No readable file has it, so the file is read again next time. */
export const UNREADABLE = "";

// Some file systems round times to 2 s.
const STAMP_STEP_MS = 2_000;

/** Loads a file, or returns `before` if it has not changed. Content that cannot be used keeps the last value. */
export function reloadFile<Value>(
  path: string,
  parse: (text: string) => Value,
  before?: LoadedFile<Value>,
): LoadedFile<Value> {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return MISSING;
    if (before?.text === undefined && before?.stamp === stampOf(found)) return before;
    return parseContent(readText(path), parse, before);
  } catch (error) {
    return { value: before?.value, problem: formatReason(error), stamp: UNREADABLE, text: undefined };
  }
}

const MISSING = { value: undefined, problem: undefined, stamp: undefined, text: undefined };

type Content = Pick<LoadedFile<unknown>, "text"> & { readonly stamp: string; readonly read: string };

function parseContent<Value>(
  { read, stamp, text }: Content,
  parse: (text: string) => Value,
  before: LoadedFile<Value> | undefined,
): LoadedFile<Value> {
  if (before?.text === read) return { ...before, stamp, text };
  try {
    return { value: parse(read), problem: undefined, stamp, text };
  } catch (error) {
    return { value: before?.value, problem: formatReason(error), stamp, text };
  }
}

function readText(path: string): Content {
  const { stats, text: read } = readPlainFile(path);
  const isNew = Date.now() - stats.ctimeMs < STAMP_STEP_MS;
  return { read, stamp: stampOf(stats), text: isNew ? read : undefined };
}

function stampOf({ ctimeMs, dev, ino, mtimeMs, size }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join();
}

/** Formats an error in one line, because JSON's messages quote the text, newlines included. */
function formatReason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ");
}
