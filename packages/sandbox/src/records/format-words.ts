/** Returns the last words of a copier as plain text, for an error. */
export function formatWords(pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces)
    .toString()
    .replace(/[^ -~]+/g, " ")
    .trim();
}
