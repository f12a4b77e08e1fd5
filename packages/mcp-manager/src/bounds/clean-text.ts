import { sanitizeText, truncateText } from "@budgie/core";

/** Returns a server's words without what no reader sees, and at most `maxLength` characters. */
export function cleanText(text: string, maxLength: number): string {
  // Cut first: the work on a text of megabytes would be for nothing.
  return truncateText(sanitizeText(text.slice(0, maxLength)), maxLength * 4);
}

/** Returns a server's words as one line. */
export function cleanLine(text: string, maxLength: number): string {
  return cleanText(text, maxLength).replace(/\s+/g, " ").trim();
}
