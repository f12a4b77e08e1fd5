import type { Database } from "./database/sqlite.ts";

/** Replaces the list of the contents that a change set needs. Those that stay are not written again, since most do. */
export function setChangeObjects(database: Database, id: string, digests: readonly string[]): void {
  database.run(
    "DELETE FROM change_objects WHERE change_set = ? AND digest NOT IN (SELECT value FROM json_each(?))",
    id,
    JSON.stringify(digests),
  );
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

/** Lists the contents that any change set needs: of one that an older budgie saved meanwhile, all that it names. */
export function listChangeObjects(database: Database): readonly string[] {
  return database.all(NEEDED).map((row) => String(row["digest"]));
}

const NEEDED = `SELECT digest FROM change_objects
  UNION
  SELECT json_extract(change.value, side.value)
  FROM change_sets, json_each(change_sets.content, '$.changes') AS change,
    json_each('["$.before.digest", "$.after.digest"]') AS side
  WHERE state IN ('pending', 'partly', 'applied')
    AND NOT EXISTS (SELECT 1 FROM change_objects WHERE change_set = change_sets.id)
    AND json_extract(change.value, side.value) IS NOT NULL`;
