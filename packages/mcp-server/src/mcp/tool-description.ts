// Kiro cuts longer ones itself, wherever that falls.
const LONGEST_BYTES = 9_999;
const MARK = " [...]";

/** The description as clients can take it: cut between two characters if it is too long. */
export function toToolDescription(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= LONGEST_BYTES) return text;
  const kept = bytes.subarray(0, LONGEST_BYTES - MARK.length);
  // As if more were to come: a character that the limit cuts in two is left out.
  return new TextDecoder().decode(kept, { stream: true }) + MARK;
}
