/** Whether a time of a file is later than another. Some file systems keep times in steps of 10 ms, 1 s or 2 s, and round down. */
export function isSince(timeMs: number, sinceMs: number): boolean {
  return timeMs > sinceMs - toStepMs(timeMs);
}

function toStepMs(timeMs: number): number {
  if (timeMs % 1000 === 0) return 2000;
  return timeMs % 10 === 0 ? 10 : 0;
}
