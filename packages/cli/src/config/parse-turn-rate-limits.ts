import type { RateLimits } from "@budgie/core/turn";

/** Parses limits such as `30`, `reviewer=5` and `reviewer=0`. Later ones override earlier ones. */
export function parseTurnRateLimits(values: readonly string[]): RateLimits {
  const pairs = values.map((value): [string, number | undefined] => {
    const at = value.lastIndexOf("=");
    return [value.slice(0, Math.max(at, 0)), Number(value.slice(at + 1)) || undefined];
  });
  const { "": all, ...agents } = Object.fromEntries(pairs);
  const limited = Object.entries(agents).filter((pair): pair is [string, number] => pair[1] !== undefined);
  return { all, agents: new Map(limited) };
}
