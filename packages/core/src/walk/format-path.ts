import { truncateText } from "../text/truncate-text.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/** Sanitizes and truncates a latin1 path for a result: an agent chose the name, and a model reads it. */
export function formatPath(path: string): string {
  const text = sanitizeText(Buffer.from(path, "latin1").toString("utf8")).replace(/\s+/g, " ");
  if (text === "" || text === "/") return "./";
  const shown = truncateText(text, LONGEST_PATH_BYTES);
  return shown === text ? text : `${shown}...`;
}

const LONGEST_PATH_BYTES = 300;
