import type { BegunRun, FinishedRun, OwnerRecord } from "@budgie/core";
import { toBegunRow, toFinishedRow } from "./run-row.ts";
import type { Database, Row } from "./sqlite.ts";
import { inTransaction } from "./in-transaction.ts";

/** Writes that a turn has begun; it outlives the process, and not a loss of power, which costs a hundred times more. */
export function writeBegun(database: Database, run: BegunRun, owner: OwnerRecord): void {
  database.exec("PRAGMA synchronous = NORMAL");
  inTransaction(database, () => {
    insertOnce(database, toBegunRow(run, owner));
    database.run("UPDATE runs SET session = ? WHERE id = ? AND ended IS NULL", run.sessionId ?? null, run.id);
  });
}

export type FinishOptions = {
  readonly owner: OwnerRecord;
  readonly keepAnswer: boolean;
};

/** Writes how a turn ended, with its answer; both are on the disk itself when this returns. */
export function writeFinished(database: Database, run: FinishedRun, { keepAnswer, owner }: FinishOptions): void {
  const row = toFinishedRow(run);
  const sets = Object.keys(row).map((column) => `${column} = ?`);
  database.exec("PRAGMA synchronous = FULL");
  inTransaction(database, () => {
    // Its beginning may have been refused by a disk that was full then.
    insertOnce(database, toBegunRow(run, owner));
    database.run(`UPDATE runs SET ${sets.join(", ")} WHERE id = ?`, ...Object.values(row), run.id);
    if (run.answer === undefined || !keepAnswer) return;
    database.run("INSERT INTO answers (run, text) SELECT number, ? FROM runs WHERE id = ?", run.answer, run.id);
  });
}

/** Writes whether a client has these turns' answers. */
export function writeDelivery(database: Database, ids: readonly string[], state: "delivered" | "dropped"): void {
  database.exec("PRAGMA synchronous = NORMAL");
  const marks = ids.map(() => "?").join(", ");
  database.run(`UPDATE runs SET delivered = ? WHERE id IN (${marks})`, state === "delivered" ? 1 : 0, ...ids);
}

function insertOnce(database: Database, row: Row): void {
  const columns = Object.keys(row);
  database.run(
    `INSERT INTO runs (${columns.join(", ")}) SELECT ${columns.map(() => "?").join(", ")}
      WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = ?)`,
    ...Object.values(row),
    row["id"] ?? null,
  );
}
