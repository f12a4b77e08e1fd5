/** Returns the largest number of overlapping stays, from a log with a line `+` for each start and `-` for each end. */
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
