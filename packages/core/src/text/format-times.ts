/** Returns how often something was: `once`, or `3 times`. */
export function formatTimes(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
