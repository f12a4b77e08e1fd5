import { join } from "node:path";
import type { Owner } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { Run, RunQuery } from "@budgie/core/runs";
import { parseRun } from "./parse-run.ts";
import type { Database, Row } from "./sqlite.ts";

/** Finds the last runs, the newest first. */
export function findRuns(database: Database, owner: Owner, query: RunQuery): Promise<readonly Run[]> {
  const { agent, directory, limit, sessionId, sinceMs } = query;
  const conditions: readonly { readonly sql: string; readonly value: string | number }[] = [
    ...(agent === undefined ? [] : [{ sql: "agent = ?", value: agent }]),
    ...(sessionId === undefined ? [] : [{ sql: "session = ?", value: sessionId }]),
    // Compares characters, because LIKE and GLOB would interpret some of them.
    ...(directory === undefined ? [] : [{ sql: "instr(directory || '/', ?) = 1", value: join(directory, "/") }]),
    ...(sinceMs === undefined ? [] : [{ sql: "started >= ?", value: sinceMs }]),
  ];
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}`;
  const values = conditions.map(({ value }) => value);
  return parseRuns(database.all(`SELECT * FROM runs ${where} ORDER BY number DESC LIMIT ?`, ...values, limit), owner);
}

/** Parses rows. A run that has not ended is running if its owner is alive, and lost otherwise. */
export async function parseRuns(rows: readonly Row[], owner: Owner): Promise<readonly Run[]> {
  const open = rows.filter(({ ended }) => ended === null);
  const owners = [...new Set(open.map(({ owner: record }) => String(record)))];
  const states = new Map(await Promise.all(owners.map(async (record) => [record, await ask(owner, record)] as const)));
  return rows.map((row) => parseRun(row, isLost(states.get(String(row["owner"])), row) ? "lost" : "running"));
}

type State = Awaited<ReturnType<Owner["stateOf"]>>;

function ask(owner: Owner, record: string): Promise<State> {
  return owner.stateOf(JSON.parse(record) as OwnerRecord, "state-directory");
}

// A run whose owner cannot be reached is judged by its age, like containers.
const FOREIGN_LIMIT_MS = 24 * 60 * 60 * 1000;

function isLost(state: State | undefined, { started }: Row): boolean {
  if (state === "foreign") return Date.now() - Number(started) > FOREIGN_LIMIT_MS;
  return state === "dead";
}
