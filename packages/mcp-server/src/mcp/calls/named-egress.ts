import type { EgressCount, EgressReport } from "@budgie/core";

const MOST_NAMED = 50;

/** A report for a caller's model: the agent chooses names and how many, so that no more than some are told, and the rest counted. */
export function toNamedEgress({ allowed, denied }: EgressReport): EgressReport {
  return {
    allowed: cut(allowed, (count) => ({ ...OTHERS, count })),
    denied: cut(denied, (count) => ({ ...OTHERS, count, why: "various" })),
  };
}

// As the proxy's own log has it for what did not fit there.
const OTHERS = { host: "(others)", port: 0 } as const;

function cut<Count extends EgressCount>(
  counts: readonly Count[],
  toOthers: (count: number) => Count,
): readonly Count[] {
  const rest = counts.slice(MOST_NAMED).reduce((sum, { count }) => sum + count, 0);
  return rest === 0 ? counts : [...counts.slice(0, MOST_NAMED), toOthers(rest)];
}
