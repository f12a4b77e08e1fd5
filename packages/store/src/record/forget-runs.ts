import { inTransaction } from "../database/in-transaction.ts";
import { readEnds, type RecordMark } from "./record-turn.ts";
import type { Database } from "../database/sqlite.ts";

type Values = readonly (string | number)[];

/** Removes the turns that a condition of SQL selects, and marks their entries of the record as removed, in one transaction. */
export function forgetRuns(database: Database, where: string, ...values: Values): void {
  inTransaction(database, () => {
    database.run(
      `UPDATE record SET run = NULL WHERE (position, run) IN (SELECT entry, id FROM runs WHERE ${where})`,
      ...values,
    );
    database.run(`DELETE FROM runs WHERE ${where}`, ...values);
    moveStart(database);
  });
}

/** Lets the record begin with the oldest turn that is kept. The last entry before it stays as the checkpoint. */
function moveStart(database: Database): void {
  const ends = readEnds(database);
  if (ends === undefined) return;
  const [kept] = database.all("SELECT position FROM record WHERE run IS NOT NULL ORDER BY position LIMIT 1");
  const checkpoint = kept === undefined ? ends.head : findMark(database, Number(kept["position"]) - 1);
  // A gap must not disappear with the entries around it, unless nothing is left to verify.
  if (checkpoint === undefined || (kept !== undefined && hasGap(database, ends.start, checkpoint))) return;
  database.run("DELETE FROM record WHERE position <= ?", checkpoint.position);
  database.run("UPDATE record_ends SET start_position = ?, start_digest = ?", checkpoint.position, checkpoint.digest);
}

function findMark(database: Database, position: number): RecordMark | undefined {
  const [row] = database.all("SELECT digest FROM record WHERE position = ?", position);
  return row === undefined ? undefined : { position, digest: String(row["digest"]) };
}

function hasGap(database: Database, start: RecordMark, { position }: RecordMark): boolean {
  const [row] = database.all("SELECT count(*) AS count FROM record WHERE position <= ?", position);
  return Number(row?.["count"]) !== position - start.position;
}
