import type { Owner, OwnerRecord, Run, RunQuery } from "@budgie/core";
import { toRun } from "./run-row.ts";
import type { Database, Row } from "./sqlite.ts";

/** Finds the last runs, the newest first. */
export function findRuns(database: Database, owner: Owner, query: RunQuery): Promise<readonly Run[]> {
  const { agent, limit, sessionId } = query;
  const conditions = [
    ...(agent === undefined ? [] : [{ sql: "agent = ?", value: agent }]),
    ...(sessionId === undefined ? [] : [{ sql: "session = ?", value: sessionId }]),
  ];
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}`;
  const values = conditions.map(({ value }) => value);
  return toRuns(database.all(`SELECT * FROM runs ${where} ORDER BY number DESC LIMIT ?`, ...values, limit), owner);
}

/** The runs of these rows: those that are not over run if their owner lives, and are lost if not. */
export async function toRuns(rows: readonly Row[], owner: Owner): Promise<readonly Run[]> {
  const open = rows.filter(({ ended }) => ended === null);
  const owners = [...new Set(open.map(({ owner: record }) => String(record)))];
  const states = new Map(await Promise.all(owners.map(async (record) => [record, await ask(owner, record)] as const)));
  return rows.map((row) => toRun(row, isLost(states.get(String(row["owner"])), row) ? "lost" : "running"));
}

type State = Awaited<ReturnType<Owner["stateOf"]>>;

function ask(owner: Owner, record: string): Promise<State> {
  return owner.stateOf(JSON.parse(record) as OwnerRecord, "state-directory");
}

// One that cannot be asked is judged by age, as its containers are.
const FOREIGN_LIMIT_MS = 24 * 60 * 60 * 1000;

function isLost(state: State | undefined, { started }: Row): boolean {
  if (state === "foreign") return Date.now() - Number(started) > FOREIGN_LIMIT_MS;
  return state === "dead";
}
