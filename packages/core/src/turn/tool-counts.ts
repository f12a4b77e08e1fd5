import type { ToolCount } from "../runs/run-log.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/** The tools that an agent used in a turn. */
export type ToolCounts = {
  readonly add: (tool: string) => void;
  /** Lists them in the order of their first uses */
  readonly list: () => readonly ToolCount[];
};

// An agent's program chose the names.
const MOST_TOOLS = 50;
const LONGEST_NAME = 100;
const OTHERS = "(others)";

/** Creates an empty count. */
export function createToolCounts(): ToolCounts {
  const counts = new Map<string, number>();
  return {
    add(tool) {
      const name = sanitizeText(tool.slice(0, LONGEST_NAME)).replace(/\s+/g, " ");
      const counted = counts.has(name) || counts.size < MOST_TOOLS ? name : OTHERS;
      counts.set(counted, (counts.get(counted) ?? 0) + 1);
    },
    list: () => [...counts].map(([name, count]) => ({ name, count })),
  };
}
