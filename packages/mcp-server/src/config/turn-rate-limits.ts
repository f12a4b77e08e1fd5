import { BudgieError, type TurnRateLimits } from "@budgie/core";

/** Parses limits such as `30`, `reviewer=5` and `reviewer=0`. Later ones override earlier ones. */
export function toTurnRateLimits(values: readonly string[]): TurnRateLimits {
  const pairs = values.map((value): [string, number | undefined] => {
    const at = value.lastIndexOf("=");
    return [value.slice(0, Math.max(at, 0)), Number(value.slice(at + 1)) || undefined];
  });
  const { "": all, ...agents } = Object.fromEntries(pairs);
  const limited = Object.entries(agents).filter((pair): pair is [string, number] => pair[1] !== undefined);
  return { all, agents: new Map(limited) };
}

/** Throws `CONFIG_INVALID` for a limit of an unknown agent, which would have no effect. */
export function refuseUnknownRates(limits: TurnRateLimits, known: readonly string[]): void {
  const unknown = [...limits.agents.keys()].find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no agent "${unknown}" for --max-turns-per-minute. The agents are: ${known.join(", ") || "none"}.`,
  );
}
