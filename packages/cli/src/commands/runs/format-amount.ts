/** Returns a figure in at most six characters, such as `0.07`, `812`, `12.3k` or `4M`. */
export function formatAmount(amount: number): string {
  if (amount > 0 && amount < LEAST) return `<${LEAST}`;
  // A figure that would be rounded up to 1000 belongs to the next unit.
  const [size, unit] = UNITS.find(([least]) => amount >= least * 0.99995) ?? [1, ""];
  const scaled = amount / size;
  return `${Number(scaled.toFixed(countDecimals(scaled)))}${unit}`;
}

const LEAST = 0.001;

const UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

function countDecimals(amount: number): number {
  if (amount < 1) return 3;
  return amount < 100 ? 2 : 1;
}
