import type { Owner } from "@budgie/core";
import {
  MOST_MISSED,
  createMemoryRunLog,
  chooseUndelivered,
  type RunLog,
  type RunOutcome,
  type UndeliveredAnswers,
  type UndeliveredQuery,
} from "@budgie/core/runs";
import { findOutcomes, findRuns } from "./find-runs.ts";
import { DEFAULT_RETENTION, type Retention } from "./prune-runs.ts";
import { createPruning } from "./pruning.ts";
import type { Database } from "../database/sqlite.ts";
import { createStateDatabase } from "../database/state-database.ts";
import { writeBegun, writeDelivery, writeFinished } from "./write-begun.ts";

/** A run log in a file that several processes write and read. */
export type RunLogFile = RunLog & { readonly close: () => void };

export type RunLogOptions = {
  readonly stateDir: string;
  /** The owner of the turns */
  readonly owner: Owner;
  /** Called once with the reason why runs are not kept */
  readonly report: (line: string) => void;
  /** Keeps answers; default true */
  readonly keepAnswers?: boolean;
  /** Keeps the end of what agents print; default false */
  readonly keepTranscripts?: boolean;
  /** Default {@link DEFAULT_RETENTION} */
  readonly retention?: Retention;
};

/** Creates the log. Nothing is opened or loaded before the first run. If the file cannot be written, runs are kept in memory. */
export function createRunLog(options: RunLogOptions): RunLogFile {
  const {
    keepAnswers = true,
    keepTranscripts = false,
    owner,
    report,
    retention = DEFAULT_RETENTION,
    stateDir,
  } = options;
  const state = createStateDatabase(stateDir);
  const pruning = createPruning(state, retention);
  const spare = createMemoryRunLog();
  let hasReported = false;

  /** Uses the database, or reports why it cannot and resolves to `undefined`. */
  async function attempt<T>(work: (database: Database) => T): Promise<Awaited<T> | undefined> {
    try {
      return await work(await state.connect());
    } catch (error) {
      if (!hasReported) report(`Turns are not logged: ${state.toProblem(error).message}`);
      hasReported = true;
      return undefined;
    }
  }

  /** Adds the runs of the file to those that it could not keep. */
  async function addKept<T extends RunOutcome>(
    find: (database: Database) => Promise<readonly T[]>,
    unkept: readonly T[],
    limit: number,
  ): Promise<readonly T[]> {
    const kept = state.exists() ? await attempt(find) : [];
    const after = retention.maxAgeMs === undefined ? 0 : Date.now() - retention.maxAgeMs;
    const young = (kept ?? []).filter(({ startedMs }) => startedMs >= after);
    return unkept.length === 0 ? young : listNewest([...young, ...unkept], limit);
  }

  return {
    keepsTranscripts: keepTranscripts,
    async begin(run) {
      await attempt(async (database) => {
        // Readers of the row check the owner's lock.
        await owner.hold();
        writeBegun(database, run, owner.record);
      });
    },
    async finish(run) {
      const isKept = await attempt((database) => {
        const kept = { keepAnswer: keepAnswers, keepTranscript: keepTranscripts };
        writeFinished(database, run, { owner: owner.record, ...kept });
        return true;
      });
      if (isKept === undefined) await spare.finish(run);
      else pruning.schedule();
    },
    async delivered(ids) {
      await spare.delivered(ids);
      await attempt((database) => writeDelivery(database, ids, "delivered"));
    },
    async dropped(ids) {
      await spare.dropped(ids);
      await attempt((database) => writeDelivery(database, ids, "dropped"));
    },
    async undelivered(query) {
      const kept = state.exists() ? await attempt((database) => findUndelivered(database, query)) : undefined;
      const unkept = await spare.undelivered(query);
      if (kept === undefined) return unkept;
      return chooseUndelivered([...kept.missed, ...unkept.missed], kept.moreMissed + unkept.moreMissed);
    },
    recent: async (query) =>
      addKept((database) => findRuns(database, owner, query), await spare.recent(query), query.limit),
    outcomes: async (limit) =>
      addKept((database) => findOutcomes(database, owner, limit), await spare.outcomes(limit), limit),
    close() {
      pruning.stop();
      state.close();
    },
  };
}

/** Finds the undelivered answers of a session that one message brings, and counts the others. */
function findUndelivered(database: Database, { agent, except = "", sessionId }: UndeliveredQuery): UndeliveredAnswers {
  const from = `FROM runs JOIN answers ON run = number
    WHERE session = ? AND agent = ? AND id <> ? AND delivered = 0 AND outcome = 'answered'`;
  const values = [sessionId, agent, except];
  // Each may have some megabytes.
  const rows = database.all(`SELECT id, ended, text ${from} ORDER BY number LIMIT ?`, ...values, MOST_MISSED);
  const answers = rows.map(({ ended, id, text }) => ({
    runId: String(id),
    response: String(text),
    when: new Date(Number(ended)).toISOString(),
  }));
  const [{ all = 0 } = {}] =
    rows.length < MOST_MISSED ? [] : database.all(`SELECT count(*) AS "all" ${from}`, ...values);
  return chooseUndelivered(answers, Math.max(Number(all) - rows.length, 0));
}

function listNewest<T extends RunOutcome>(runs: readonly T[], limit: number): readonly T[] {
  return runs.toSorted((a, b) => b.startedMs - a.startedMs).slice(0, limit);
}
