const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
] as const;

/** Returns the time since a moment in its largest unit, such as "5 m ago". */
export function ago(ms: number, nowMs: number = Date.now()): string {
  return `${age(ms, nowMs)} ago`;
}

/** Returns the time since a moment in its largest unit, such as "5 m". A moment to come counts as now. */
export function age(ms: number, nowMs: number = Date.now()): string {
  const passedMs = Math.max(nowMs - ms, 0);
  const [unitMs, unit] = UNITS.find(([size]) => passedMs >= size) ?? [1000, "s"];
  return `${Math.floor(passedMs / unitMs)} ${unit}`;
}
