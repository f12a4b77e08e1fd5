import { sanitizeText } from "@budgie/core/text";

/** Returns an agent's text on one line, sanitized. */
export function oneLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, " ").trim();
}
