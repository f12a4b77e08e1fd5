import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { TurnProgress } from "@budgie/core";
import type { ClientRun } from "./client-run.ts";

/** What a program may want to know of a run: where it is, or what it came to. */
export function toRunFacts(run: ClientRun): Record<string, unknown> {
  const place = run.place();
  const session = place?.sessionId === undefined ? {} : { sessionId: place.sessionId };
  const known = { runId: run.runId, agent: toAgent(run), ...session };
  const outcome = run.outcome();
  if (outcome?.isError === true) return { ...known, status: toEnd(outcome), code: outcome.structuredContent?.["code"] };
  if (outcome !== undefined) return { ...known, status: "done" };
  return { ...known, status: "running", elapsedMs: toAge(run.beganMs), ...(place && toPlaceFacts(place)) };
}

/** How a run ended that gave no answer: `cancel` has said the same. */
export function toEnd({ structuredContent }: CallToolResult): "cancelled" | "failed" {
  return structuredContent?.["code"] === "CANCELLED" ? "cancelled" : "failed";
}

/** Before anything is known of the turn, only the tool is. */
export function toAgent(run: ClientRun): string {
  return run.place()?.agent ?? run.tool;
}

function toPlaceFacts(place: TurnProgress): Record<string, unknown> {
  const known = { phase: place.phase, phaseMs: toAge(place.sinceMs) };
  switch (place.phase) {
    case "waiting":
      return { ...known, position: place.position };
    case "starting":
      return known;
    case "running":
      return { ...known, tries: place.tries };
  }
}

function toAge(sinceMs: number): number {
  return Math.round(performance.now() - sinceMs);
}
