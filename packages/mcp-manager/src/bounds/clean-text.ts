import { sanitizeText, truncateText } from "@budgie/core/text";

/** Returns a server's text without invisible characters, truncated to `maxLength` characters. */
export function cleanText(text: string, maxLength: number): string {
  // Truncated first, so that megabytes are not sanitized only to be dropped.
  return truncateText(sanitizeText(text.slice(0, maxLength)), maxLength * 4);
}

/** Returns a server's text as one line. */
export function cleanLine(text: string, maxLength: number): string {
  return cleanText(text, maxLength).replace(/\s+/g, " ").trim();
}
