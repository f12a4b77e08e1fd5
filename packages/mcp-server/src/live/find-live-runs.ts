import { askOwner, BudgieError, type AheadCount, type Owner, type OwnerRecord } from "@budgie/core";
import { runAnswer, type LiveRun, type RunRequest } from "./run-requests.ts";

/** A turn that waits or runs now, and the budgie that runs it. */
export type FoundRun = LiveRun & { readonly owner: OwnerRecord };

export type FoundRuns = {
  /** The oldest first */
  readonly runs: readonly FoundRun[];
  /** Budgies that did not answer */
  readonly silent: readonly OwnerRecord[];
  /** The number of sessions and turns that they keep ready */
  readonly ahead: AheadCount;
};

const NOTHING: AheadCount = { sessions: 0, turns: 0 };

// A budgie answers at once, unless it is stopped or its machine is busy.
const ANSWER_LIMIT_MS = 3_000;

/** Asks all budgies of a state directory for the turns that they run. */
export async function findLiveRuns(
  owner: Pick<Owner, "listRecords">,
  limitMs: number = ANSWER_LIMIT_MS,
): Promise<FoundRuns> {
  const holders = [...owner.listRecords("container"), ...owner.listRecords("none")];
  const owners = [...new Map(holders.map((record) => [record.instance, record])).values()];
  const answers = await Promise.all(owners.map((record) => askForRuns(record, limitMs)));
  return {
    runs: answers.flatMap(({ runs }) => runs).toSorted((a, b) => a.startedMs - b.startedMs),
    silent: answers.flatMap(({ silent }) => silent),
    ahead: {
      sessions: answers.reduce((sum, { ahead }) => sum + ahead.sessions, 0),
      turns: answers.reduce((sum, { ahead }) => sum + ahead.turns, 0),
    },
  };
}

async function askForRuns(owner: OwnerRecord, limitMs: number): Promise<FoundRuns> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    for await (const answer of askRun(owner, { ask: "runs" }, limit)) {
      const { ahead = NOTHING, runs } = runAnswer.runs.parse(answer);
      return { runs: runs.map((run) => ({ ...run, owner })), silent: [], ahead };
    }
    // A command that holds a lock, such as "budgie gc", runs no turns.
    return { runs: [], silent: [], ahead: NOTHING };
  } catch {
    // It answers too late, or with something else.
    return { runs: [], silent: [owner], ahead: NOTHING };
  }
}

/** Sends a request to a budgie, and yields its answers; none if it has ended since it was listed. */
export async function* askRun(owner: OwnerRecord, request: RunRequest, signal: AbortSignal): AsyncGenerator<unknown> {
  try {
    yield* askOwner(owner, request, signal);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["ECONNREFUSED", "ENOENT"].includes(code)) throw error;
  }
}

/** Finds the run whose id begins with `id`. Throws `RUN_NOT_FOUND` if there is none, or more than one. */
export function findLiveRun({ runs, silent }: Pick<FoundRuns, "runs" | "silent">, id: string): FoundRun {
  const [run, ...others] = id === "" ? [] : runs.filter(({ runId }) => runId.startsWith(id));
  if (run === undefined) {
    throw new BudgieError(
      "RUN_NOT_FOUND",
      `No turn ${JSON.stringify(id.slice(0, 64))} runs now. "budgie ps" lists those that do, and "budgie runs ls" those that have ended.` +
        (silent.length === 0 ? "" : ` Budgies that do not answer: ${silent.length}. It may run in one of them.`),
    );
  }
  if (others.length === 0) return run;
  const named = [run, ...others].slice(0, MOST_NAMED).map(({ runId }) => `"${runId}"`);
  throw new BudgieError(
    "RUN_NOT_FOUND",
    `The ids of several turns begin with "${id}", such as ${named.join(", ")}. Give more of the id.`,
  );
}

const MOST_NAMED = 5;
