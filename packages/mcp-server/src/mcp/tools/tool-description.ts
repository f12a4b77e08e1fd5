import { shorten } from "./shorten.ts";

// Kiro cuts at byte 10,004, also in the middle of a character, of which it dies; and it may put some words of its own,
// with the server's name, before a description.
const LONGEST_BYTES = 9_800;

/** The description as clients can take it: shortened if it is too long, and always with its ending. */
export function toToolDescription(text: string, ending: string): string {
  return shorten(text, LONGEST_BYTES - Buffer.byteLength(ending)) + ending;
}
