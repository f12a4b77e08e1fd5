import type { OwnerRecord } from "@budgie/core/owners";
import type { BegunRun, FinishedRun } from "@budgie/core/runs";
import { toBegunRow, toFinishedRow } from "./parse-run.ts";
import { recordTurn } from "../record/record-turn.ts";
import type { Database, Row } from "../database/sqlite.ts";
import { inTransaction } from "../database/in-transaction.ts";

/**
 * Records that a turn has begun. The row survives a crash of the process but not a power failure: that would take a hundred times longer to
 * write.
 */
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
  readonly keepTranscript: boolean;
};

/** Records the end of a turn, its texts and its entry of the record. All are on the disk when this returns. */
export function writeFinished(
  database: Database,
  run: FinishedRun,
  { keepAnswer, keepTranscript, owner }: FinishOptions,
): void {
  const row = toFinishedRow(run);
  const sets = Object.keys(row).map((column) => `${column} = ?`);
  database.exec("PRAGMA synchronous = FULL");
  inTransaction(database, () => {
    // The row is missing if the disk was full when the turn began.
    insertOnce(database, toBegunRow(run, owner));
    database.run(`UPDATE runs SET ${sets.join(", ")} WHERE id = ?`, ...Object.values(row), run.id);
    if (run.answer !== undefined && keepAnswer) {
      database.run("INSERT INTO answers (run, text) SELECT number, ? FROM runs WHERE id = ?", run.answer, run.id);
    }
    if (run.transcript !== undefined && keepTranscript) {
      const bytes = Buffer.byteLength(run.transcript);
      const sql = "INSERT INTO transcripts (run, text, bytes) SELECT number, ?, ? FROM runs WHERE id = ?";
      database.run(sql, run.transcript, bytes, run.id);
    }
    recordTurn(database, run.id);
  });
}

/** Records that a client has received, or discarded, these turns' answers. */
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
