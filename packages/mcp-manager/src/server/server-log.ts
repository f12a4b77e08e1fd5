import { LIMITS } from "../bounds/limits.ts";

export type ServerLog = {
  readonly add: (line: string) => void;
  /** The last lines, the oldest first */
  readonly lines: () => readonly string[];
};

/** Creates a log that keeps the last lines of a server. */
export function createServerLog(): ServerLog {
  const lines: string[] = [];
  return {
    add(line) {
      lines.push(line.slice(0, LIMITS.logLine));
      if (lines.length > LIMITS.logLines) lines.shift();
    },
    lines: () => [...lines],
  };
}
