import type { BellFacts } from "../../src/bell/format-bell-facts.ts";

/** Returns the facts of an answered turn. */
export function makeFacts(more: Partial<BellFacts> = {}): BellFacts {
  return {
    event: "end",
    runId: "r1",
    agent: "coder",
    sessionId: "s1",
    directory: "/project",
    outcome: "answered",
    durationMs: 11_700.4,
    refusedHosts: [],
    refusedTools: [],
    changedExecutablePaths: [],
    usage: undefined,
    message: undefined,
    warnings: [],
    ...more,
  };
}
