import { cutText } from "@budgie/core";

// Kiro cuts longer ones itself, wherever that falls.
const LONGEST_BYTES = 9_999;
const MARK = " [...]";

/** The description as clients can take it: cut between two characters if it is too long, and always with its ending. */
export function toToolDescription(text: string, ending: string): string {
  const room = LONGEST_BYTES - Buffer.byteLength(ending);
  if (Buffer.byteLength(text) <= room) return text + ending;
  return cutText(text, room - MARK.length) + MARK + ending;
}
