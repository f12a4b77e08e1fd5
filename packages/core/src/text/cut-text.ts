/** The longest beginning of `text` that has at most `maxBytes` of UTF-8; no character is cut in two. */
export function cutText(text: string, maxBytes: number): string {
  // As if more were to come: what is left of a character at the end is dropped.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, maxBytes), {
    stream: true,
  });
}
