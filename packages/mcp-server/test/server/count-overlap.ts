/** How many stays there were at once at most, from a log with a line `+` for each that began and `-` for each that ended. */
export function countOverlap(log: string): number {
  let now = 0;
  let most = 0;
  for (const line of log.split("\n")) {
    if (line === "+") now++;
    if (line === "-") now--;
    most = Math.max(most, now);
  }
  return most;
}
