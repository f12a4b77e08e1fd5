import { sanitizeText } from "@budgie/core/text";

/** Returns a server's text on one line, sanitized and truncated to `longest` characters. */
export function oneLine(text: string, longest = 1000): string {
  // Truncated first, since a server chooses the size.
  const line = sanitizeText(text.slice(0, 4 * longest))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= longest ? line : `${line.slice(0, longest)}...`;
}
