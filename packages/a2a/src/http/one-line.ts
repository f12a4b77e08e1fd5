import { sanitizeText } from "@budgie/core";

/** Returns a server's own words on one line, without what a terminal obeys, and no more than `longest` characters of them. */
export function toOneLine(text: string, longest = 1000): string {
  // Cut first, since a server chooses the size.
  const line = sanitizeText(text.slice(0, 4 * longest))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= longest ? line : `${line.slice(0, longest)}...`;
}
