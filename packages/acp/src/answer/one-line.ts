import { sanitizeText } from "@budgie/core";

/** Returns an agent's own words on one line, without what a terminal obeys. */
export function toOneLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, " ").trim();
}
