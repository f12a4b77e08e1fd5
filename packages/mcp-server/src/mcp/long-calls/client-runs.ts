import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import type { ClientRun } from "./client-run.ts";

/** The runs of one client: pending ones, and ended ones whose results are kept. */
export type ClientRuns = {
  readonly add: (run: ClientRun) => void;
  /** Removes a run whose call returned its result. */
  readonly remove: (run: ClientRun) => void;
  /** Keeps a run and its result beyond its call, until too many newer ones have ended. */
  readonly keep: (run: ClientRun) => void;
  readonly get: (runId: string) => ClientRun | undefined;
  /** Returns a run, or throws `RUN_NOT_FOUND`. */
  readonly find: (runId: string) => ClientRun;
  readonly list: () => readonly ClientRun[];
};

const MOST_RESULTS = 64;
const MOST_BYTES = 16 * 1024 ** 2;
// A UUID has 36 characters.
const LONGEST_ID = 50;

/** Creates an empty table of runs. The queue limits how many run at once. */
export function createClientRuns(): ClientRuns {
  const runs = new Map<string, ClientRun>();
  // In the order of their ends
  const ended: { readonly runId: string; readonly bytes: number }[] = [];

  function keepEnded({ runId, outcome }: ClientRun): void {
    ended.push({ runId, bytes: Buffer.byteLength(JSON.stringify(outcome() ?? "")) });
    while (ended.length > 1 && (ended.length > MOST_RESULTS || sum(ended) > MOST_BYTES)) {
      const oldest = ended.shift();
      if (oldest !== undefined) runs.delete(oldest.runId);
    }
  }

  return {
    add: (run) => void runs.set(run.runId, run),
    remove: ({ runId }) => void runs.delete(runId),
    keep: (run) => void run.result.then(() => keepEnded(run)).catch(() => runs.delete(run.runId)),
    get: (runId) => runs.get(runId),
    find(runId) {
      const run = runs.get(runId);
      if (run !== undefined) return run;
      throw notFoundError(escapeForTerminal(runId.slice(0, LONGEST_ID)));
    },
    list: () => [...runs.values()],
  };
}

function notFoundError(runId: string): BudgieError {
  return new BudgieError(
    "RUN_NOT_FOUND",
    `You have no run "${runId}" that still runs or whose result is kept. If it was answered, the next call on its session ` +
      `brings the answer along unless you have it, and "budgie runs show ${runId}" prints it for the user.`,
  );
}

function sum(ended: readonly { readonly bytes: number }[]): number {
  return ended.reduce((total, { bytes }) => total + bytes, 0);
}
