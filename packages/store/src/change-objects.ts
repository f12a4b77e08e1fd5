import type { Database } from "./database/sqlite.ts";

/** Replaces the list of the contents that a change set needs. */
export function setChangeObjects(database: Database, id: string, digests: readonly string[]): void {
  database.run("DELETE FROM change_objects WHERE change_set = ?", id);
  addChangeObjects(database, id, digests);
}

/** Adds contents to those that a change set needs. */
export function addChangeObjects(database: Database, id: string, digests: readonly string[]): void {
  database.run("INSERT OR IGNORE INTO change_objects SELECT ?, value FROM json_each(?)", id, JSON.stringify(digests));
}

/** Removes change sets, with the lists of what they need. */
export function removeChangeSets(database: Database, ids: readonly string[]): void {
  for (const id of ids) {
    database.run("DELETE FROM change_objects WHERE change_set = ?", id);
    database.run("DELETE FROM change_sets WHERE id = ?", id);
  }
}

/** Lists the contents that any change set needs. */
export function listChangeObjects(database: Database): readonly string[] {
  return database.all("SELECT DISTINCT digest FROM change_objects").map((row) => String(row["digest"]));
}
