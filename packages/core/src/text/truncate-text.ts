/** Truncates `text` to at most `maxBytes` of UTF-8 without splitting a character. */
export function truncateText(text: string, maxBytes: number): string {
  // `stream: true` drops an incomplete character at the end instead of replacing it.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, maxBytes), {
    stream: true,
  });
}

/** Formats a number for people, the same on every machine: `400,000`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}
