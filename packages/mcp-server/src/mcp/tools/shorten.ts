import { cutText } from "@budgie/core";

const MARK = " [...]";

/** The text in at most `maxBytes`, and never half a character: a client that finds one may drop all that came with it. */
export function shorten(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return cutText(text, maxBytes);
  return cutText(text, maxBytes - MARK.length) + MARK;
}
