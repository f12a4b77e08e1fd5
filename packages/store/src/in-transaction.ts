import type { Database } from "./sqlite.ts";

/** Writes all that `work` writes, or nothing of it. */
export function inTransaction(database: Database, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** Some failures, such as a full disk, have done it already. */
function rollBack(database: Database): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // There is no transaction any more.
  }
}
