import { sanitizeText } from "@budgie/core";

/** Returns an agent's text on one line, sanitized. */
export function toOneLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, " ").trim();
}
