/** Joins the first names for a sentence, and counts the others: `a, b, 3 more`. */
export function joinFirst(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return [...names.slice(0, most), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
}
