import type { StateDatabase } from "./state-database.ts";
import { pruneRuns, type Retention } from "./prune-runs.ts";

/** Prunes a database now and then. */
export type Pruning = {
  /** Has it pruned soon; cheap to repeat */
  readonly schedule: () => void;
  readonly stop: () => void;
};

// Not while the answer is on its way that made it worth it.
const FIRST_DELAY_MS = 1000;
const DELAY_MS = 60_000;

/** Creates what prunes this database. */
export function createPruning(state: StateDatabase, retention: Retention): Pruning {
  let timer: NodeJS.Timeout | undefined;
  let delayMs = FIRST_DELAY_MS;
  async function prune(): Promise<void> {
    timer = undefined;
    delayMs = DELAY_MS;
    pruneRuns(await state.connect(), retention);
  }
  return {
    schedule() {
      // What could not be pruned now can be the next time, and who cannot write is told by what writes runs.
      timer ??= setTimeout(() => void prune().catch(() => undefined), delayMs).unref();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
