import { cutText } from "../cut-text.ts";
import { sanitizeText } from "../sanitize-text.ts";

/** Writes a path, as latin1, so that it can be shown: a file's name is the agent's choice, and is read by a model. */
export function toShownPath(path: string): string {
  const text = sanitizeText(Buffer.from(path, "latin1").toString("utf8")).replace(/\s+/g, " ");
  if (text === "" || text === "/") return "./";
  const shown = cutText(text, LONGEST_PATH_BYTES);
  return shown === text ? text : `${shown}...`;
}

const LONGEST_PATH_BYTES = 300;
