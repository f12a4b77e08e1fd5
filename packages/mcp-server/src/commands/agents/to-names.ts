// A sentence names no more.
const MOST_NAMED = 8;

/** Joins names for a sentence. */
export function toNames(names: readonly string[]): string {
  const rest = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
}
