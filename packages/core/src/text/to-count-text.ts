/** Writes a number as a person would read it, the same on every machine: `400,000`. */
export function toCountText(count: number): string {
  return count.toLocaleString("en-US");
}
