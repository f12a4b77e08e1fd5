import { BudgieError, type AheadCount, type Owner } from "@budgie/core";
import { askOwner, type OwnerRecord } from "@budgie/core/owners";
import type { LeftChanges } from "@budgie/core/turn";
import { shortId } from "../../terminal/expand-id.ts";
import { runAnswer, type LiveRun, type RunRequest } from "@budgie/core/live";

/** A turn that waits or runs now, and the budgie that runs it. */
export type FoundRun = LiveRun & { readonly owner: OwnerRecord };

export type FoundRuns = {
  /** The oldest first */
  readonly runs: readonly FoundRun[];
  /** Budgies that did not answer */
  readonly silent: readonly OwnerRecord[];
  /** The number of sessions and turns that they keep ready */
  readonly ahead: AheadCount;
  /** The changes after agents' last turns that no result has told */
  readonly left: readonly LeftChanges[];
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
    left: answers.flatMap(({ left }) => left),
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
      const { ahead = NOTHING, left = [], runs } = runAnswer.runs.parse(answer);
      return { runs: runs.map((run) => ({ ...run, owner })), silent: [], ahead, left };
    }
    // A command that holds a lock, such as "budgie gc", runs no turns.
    return { runs: [], silent: [], ahead: NOTHING, left: [] };
  } catch {
    // It answers too late, or with something else.
    return { runs: [], silent: [owner], ahead: NOTHING, left: [] };
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

/** Finds the run whose id begins with `id`, or without one the only run. Throws `RUN_NOT_FOUND` if there is none, or more than one. */
export function findLiveRun({ runs, silent }: Pick<FoundRuns, "runs" | "silent">, id: string | undefined): FoundRun {
  if (id === undefined) return findOnlyRun(runs);
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

function findOnlyRun(runs: readonly FoundRun[]): FoundRun {
  const [run, ...others] = runs;
  if (run === undefined) {
    throw new BudgieError("RUN_NOT_FOUND", 'No turn runs now. "budgie runs ls" lists those that have ended.');
  }
  if (others.length === 0) return run;
  const named = runs.slice(0, MOST_NAMED).map(({ agent, runId }) => `"${shortId(runId)}" (${agent})`);
  throw new BudgieError(
    "RUN_NOT_FOUND",
    `${runs.length} turns run now, such as ${named.join(", ")}. Name one of them.`,
  );
}

const MOST_NAMED = 5;
