import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "../../terminal/printable.ts";
import type { ClientRun } from "./client-run.ts";

/** The runs of one client: those that run, and those whose results it may still collect. */
export type ClientRuns = {
  readonly add: (run: ClientRun) => void;
  /** Forgets a run whose call had its result. */
  readonly remove: (run: ClientRun) => void;
  /** Keeps a run beyond its call, with what it comes to, until too many others came after it. */
  readonly keep: (run: ClientRun) => void;
  /** Or throws `RUN_NOT_FOUND` */
  readonly find: (runId: string) => ClientRun;
  readonly list: () => readonly ClientRun[];
};

const MOST_RESULTS = 64;
const MOST_BYTES = 16 * 1024 ** 2;
// Of a UUID, and some more.
const LONGEST_ID = 50;

/** Creates the book of a client's runs, empty; how many may run is the queue's affair. */
export function createClientRuns(): ClientRuns {
  const runs = new Map<string, ClientRun>();
  // In the order in which they ended.
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
    find(runId) {
      const run = runs.get(runId);
      if (run !== undefined) return run;
      throw toNotFound(escapeForTerminal(runId.slice(0, LONGEST_ID)));
    },
    list: () => [...runs.values()],
  };
}

function toNotFound(runId: string): BudgieError {
  return new BudgieError(
    "RUN_NOT_FOUND",
    `You have no run "${runId}" that still runs or whose result is kept. If it was answered, the next call on its session ` +
      `brings the answer along unless you have it, and "budgie runs show ${runId}" prints it for the user.`,
  );
}

function sum(ended: readonly { readonly bytes: number }[]): number {
  return ended.reduce((total, { bytes }) => total + bytes, 0);
}
