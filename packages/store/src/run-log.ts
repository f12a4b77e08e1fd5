import {
  createMemoryRunLog,
  toUndeliveredAnswers,
  type Owner,
  type Run,
  type RunLog,
  type RunQuery,
} from "@budgie/core";

import { findRuns } from "./find-runs.ts";
import { findUndelivered } from "./find-undelivered.ts";
import { DEFAULT_RETENTION, type Retention } from "./prune-runs.ts";
import { createPruning } from "./pruning.ts";
import type { Database } from "./sqlite.ts";
import { createStateDatabase } from "./state-database.ts";
import { writeBegun, writeDelivery, writeFinished } from "./write-run.ts";

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
  /** Default {@link DEFAULT_RETENTION} */
  readonly retention?: Retention;
};

/** Creates the log. Nothing is opened or loaded before the first run. If the file cannot be written, runs are kept in memory. */
export function createRunLog(options: RunLogOptions): RunLogFile {
  const { keepAnswers = true, owner, report, retention = DEFAULT_RETENTION, stateDir } = options;
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

  return {
    async begin(run) {
      await attempt(async (database) => {
        // Readers of the row check the owner's lock.
        await owner.hold();
        writeBegun(database, run, owner.record);
      });
    },
    async finish(run) {
      const isKept = await attempt((database) => {
        writeFinished(database, run, { owner: owner.record, keepAnswer: keepAnswers });
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
      return toUndeliveredAnswers([...kept.missed, ...unkept.missed], kept.moreMissed + unkept.moreMissed);
    },
    async recent(query) {
      const kept = state.exists() ? await attempt((database) => findRuns(database, owner, query)) : [];
      const after = retention.maxAgeMs === undefined ? 0 : Date.now() - retention.maxAgeMs;
      const young = (kept ?? []).filter(({ startedMs }) => startedMs >= after);
      const unkept = await spare.recent(query);
      return unkept.length === 0 ? young : toNewest([...young, ...unkept], query);
    },
    close() {
      pruning.stop();
      state.close();
    },
  };
}

function toNewest(runs: readonly Run[], { limit }: RunQuery): readonly Run[] {
  return runs.toSorted((a, b) => b.startedMs - a.startedMs).slice(0, limit);
}
