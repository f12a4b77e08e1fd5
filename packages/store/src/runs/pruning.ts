import type { StateDatabase } from "../database/state-database.ts";
import { pruneRuns, type Retention } from "./prune-runs.ts";

/** The periodic pruning of a database. */
export type Pruning = {
  /** Schedules pruning, unless it is scheduled already. */
  readonly schedule: () => void;
  readonly stop: () => void;
};

// Leaves time to deliver the answer that was just added.
const FIRST_DELAY_MS = 1000;
const DELAY_MS = 60_000;

/** Creates the pruning of a database. */
export function createPruning(state: StateDatabase, retention: Retention): Pruning {
  let timer: NodeJS.Timeout | undefined;
  let delayMs = FIRST_DELAY_MS;
  async function prune(): Promise<void> {
    timer = undefined;
    delayMs = DELAY_MS;
    if (!state.exists()) return;
    pruneRuns(await state.connect(), retention);
  }
  return {
    schedule() {
      // A failure is ignored: pruning is repeated, and the run log reports that it cannot write.
      timer ??= setTimeout(() => void prune().catch(() => undefined), delayMs).unref();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
