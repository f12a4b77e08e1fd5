const LONGEST_PATH_BYTES = 4000;
const LONGEST_NAME_BYTES = 255;
const DEEPEST = 128;

/** Returns why a path of a copy cannot be one of the host; `undefined` if it can. */
export function checkTreePath(path: string): string | undefined {
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) return "its path is too long";
  // A name that is no UTF-8 was read with replacement characters, and would be written as another one.
  if (!isUtf8(path)) return "its name is not UTF-8";
  if (path.includes("\0")) return "its name has a NUL character";
  const names = path.split("/");
  if (names.length > DEEPEST) return `it lies more than ${DEEPEST} folders deep`;
  if (names.some((name) => name === "" || name === "." || name === ".."))
    return "its path does not stay in the directory";
  return names.some((name) => Buffer.byteLength(name) > LONGEST_NAME_BYTES) ? "its name is too long" : undefined;
}

/** Returns true for a text that UTF-8 can write, and that no reader of other bytes has filled with replacement characters. */
export function isUtf8(text: string): boolean {
  return !text.includes("\uFFFD") && Buffer.from(text).toString() === text;
}
