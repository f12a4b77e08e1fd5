import type { EgressCount, EgressReport } from "@budgie/core";

const MOST_NAMED = 10;
const LONGEST_NAME = 100;

/** The hosts that a turn was refused, such as `example.com:443 (3 times)`; empty if there were none. */
export function toRefusedText(egress: EgressReport | undefined): string {
  const counts = new Map<string, number>();
  for (const { count, host, port } of egress?.denied ?? []) {
    const target = toShown({ host, port });
    counts.set(target, (counts.get(target) ?? 0) + count);
  }
  const names = [...counts].map(([target, count]) => `${target} (${count === 1 ? "once" : `${count} times`})`);
  const rest = names.splice(MOST_NAMED).length;
  return [...names, ...(rest === 0 ? [] : [`${rest} more`])].join(", ");
}

/** The agent chooses what it asks for, and must not speak in budgie's name through it. */
function toShown({ host, port }: Pick<EgressCount, "host" | "port">): string {
  const shown = host.replace(/[^\w.:*[\]-]/g, "?");
  return `${shown.length > LONGEST_NAME ? `${shown.slice(0, LONGEST_NAME)}...` : shown}:${port}`;
}
