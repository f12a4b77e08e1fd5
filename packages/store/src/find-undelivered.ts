import { MOST_MISSED, toUndeliveredAnswers, type UndeliveredAnswers, type UndeliveredQuery } from "@budgie/core";
import type { Database } from "./sqlite.ts";

/** Finds the undelivered answers of a session that one message brings, and counts the others. */
export function findUndelivered(
  database: Database,
  { agent, except = "", sessionId }: UndeliveredQuery,
): UndeliveredAnswers {
  const from = `FROM runs JOIN answers ON run = number
    WHERE session = ? AND agent = ? AND id <> ? AND delivered = 0 AND outcome = 'answered'`;
  const values = [sessionId, agent, except];
  // Each may have some megabytes.
  const rows = database.all(`SELECT id, ended, text ${from} ORDER BY number LIMIT ?`, ...values, MOST_MISSED);
  const answers = rows.map(({ ended, id, text }) => ({
    runId: String(id),
    response: String(text),
    when: new Date(Number(ended)).toISOString(),
  }));
  const [{ all = 0 } = {}] =
    rows.length < MOST_MISSED ? [] : database.all(`SELECT count(*) AS "all" ${from}`, ...values);
  return toUndeliveredAnswers(answers, Math.max(Number(all) - rows.length, 0));
}
