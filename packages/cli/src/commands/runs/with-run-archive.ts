import { BudgieError, createOwner } from "@budgie/core";
import type { Run, RunQuery } from "@budgie/core/runs";
import { createRunArchive, type RunArchive } from "@budgie/store";
import type { Config } from "../../config/config.ts";

/** Runs work with the run log, and closes it. */
export async function withRunArchive<T>(
  { stateDir }: Pick<Config, "stateDir">,
  work: (archive: RunArchive) => Promise<T>,
): Promise<T> {
  const archive = createRunArchive({ stateDir, owner: createOwner({ stateDir }) });
  try {
    return await work(archive);
  } finally {
    archive.close();
  }
}

/** Parses the number of `--last`. Throws `CONFIG_INVALID`. */
export function parseLast(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new BudgieError("CONFIG_INVALID", `Expected --last to be a number of turns, such as 20, got "${text}".`);
}

/** Returns a run for JSON output, with times in ISO 8601. Unknown facts are `undefined`. */
export function toRunFacts<Known extends Run>({ endedMs, startedMs, ...run }: Known) {
  return {
    ...run,
    started: new Date(startedMs).toISOString(),
    ended: endedMs === undefined ? undefined : new Date(endedMs).toISOString(),
    durationMs: endedMs === undefined ? undefined : Math.max(endedMs - startedMs, 0),
  };
}

/** The turns that a command asks for. */
export type RunFilter = Pick<RunQuery, "agent" | "directory" | "sessionId"> & {
  /** A duration, as text */
  readonly since?: string | undefined;
};

/** Returns the answer of a command that finds no turn. */
export function noRunsText({ agent, directory, sessionId, since }: RunFilter): string {
  const ofAgent = agent === undefined ? "" : ` of the agent "${agent}"`;
  const ofSession = sessionId === undefined ? "" : ` in the session "${sessionId}"`;
  const ofPlace = directory === undefined ? "" : ` in or below "${directory}"`;
  const ofTime = since === undefined ? "" : ` of the last ${since}`;
  return `There is no turn${ofAgent}${ofSession}${ofPlace}${ofTime} in the run log yet.\n`;
}
