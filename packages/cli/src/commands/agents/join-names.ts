import { joinFirst } from "@budgie/core/text";

// A sentence names no more.
const MOST_NAMED = 8;

/** Joins names for a sentence. */
export function joinNames(names: readonly string[]): string {
  return joinFirst(names, MOST_NAMED);
}
