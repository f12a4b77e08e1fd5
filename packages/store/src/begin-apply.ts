import { BudgieError } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import { inTransaction } from "./database/in-transaction.ts";
import type { Database } from "./database/sqlite.ts";

/** An apply under way. `cleaning`: all is written, and only what was staged has to go. */
export type ApplyJournal = {
  readonly root: string;
  readonly directory: string;
  readonly changeId: string;
  readonly phase: "writing" | "cleaning";
  /** `undefined` if its record cannot be read */
  readonly owner: OwnerRecord | undefined;
  readonly plan: unknown;
};

/** An apply that is about to write, of a set that is in this state */
export type BegunApply = Omit<ApplyJournal, "owner" | "phase"> & {
  readonly owner: OwnerRecord;
  readonly state: string;
};

/** Records an apply that is about to write, unless another one is under way in its directory or its set changed since. */
export function beginApply(database: Database, journal: BegunApply): void {
  const { changeId, directory, owner, plan, root, state } = journal;
  inTransaction(database, () => {
    if (database.all("SELECT 1 FROM change_applies WHERE root = ?", root).length > 0) throw underWay(directory);
    const now = String(database.all("SELECT state FROM change_sets WHERE id = ?", changeId)[0]?.["state"] ?? "removed");
    if (now !== state)
      throw new BudgieError("INPUT_INVALID", `The change set "${changeId.slice(0, 8)}" is ${now} since.`);
    const values = [root, directory, changeId, JSON.stringify(owner), JSON.stringify(plan)];
    database.run(
      "INSERT INTO change_applies (root, directory, change_set, phase, owner, plan) VALUES (?, ?, ?, 'writing', ?, ?)",
      ...values,
    );
  });
}

/** Returns the error for a directory that another apply or undo is writing to. */
export function underWay(directory: string): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    `Another apply or undo is under way in "${directory}". Try again once it has ended.`,
  );
}
