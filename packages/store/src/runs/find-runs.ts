import { join } from "node:path";
import type { Owner } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { Run, RunOutcome, RunQuery } from "@budgie/core/runs";
import { parseRun } from "./parse-run.ts";
import type { Database, Row } from "../database/sqlite.ts";

/** Finds the last runs, the newest first. */
export function findRuns(database: Database, owner: Owner, query: RunQuery): Promise<readonly Run[]> {
  const { agent, directory, limit, sessionId, sinceMs } = query;
  const conditions: readonly Condition[] = [
    ...(agent === undefined ? [] : [{ sql: "agent = ?", values: [agent] }]),
    ...(sessionId === undefined ? [] : [{ sql: "session = ?", values: [sessionId] }]),
    ...(directory === undefined ? [] : [toBelow(directory)]),
    ...(sinceMs === undefined ? [] : [{ sql: "started >= ?", values: [sinceMs] }]),
  ];
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}`;
  const values = conditions.flatMap((condition) => condition.values);
  // The sign keeps SQLite from reading the rows of the whole log, in the order of their numbers, for the few of a range.
  const order = directory === undefined && sinceMs === undefined ? "number" : "+number";
  const numbers = `SELECT number FROM runs ${where} ORDER BY ${order} DESC LIMIT ?`;
  const rows = database.all(`SELECT * FROM runs WHERE number IN (${numbers}) ORDER BY number DESC`, ...values, limit);
  return parseRuns(rows, owner);
}

/** Finds the outcomes of the last runs, the newest first. Rows are long, and a report reads thousands of them. */
export function findOutcomes(database: Database, owner: Owner, limit: number): Promise<readonly RunOutcome[]> {
  const columns = "agent, owner, started, ended, outcome, timed_out, error";
  return parseRuns(database.all(`SELECT ${columns} FROM runs ORDER BY number DESC LIMIT ?`, limit), owner);
}

type Condition = { readonly sql: string; readonly values: readonly (string | number)[] };

/** Returns the condition for a directory and all below it: a range, which an index finds. */
function toBelow(directory: string): Condition {
  const inside = join(directory, "/");
  const values = [inside.slice(0, -1), inside, toNext(inside)];
  return { sql: "(directory = ? OR (directory >= ? AND directory < ?))", values };
}

/** Returns the first text behind all that begin with this one, which is not empty and of characters that have a next one. */
function toNext(text: string): string {
  return text.slice(0, -1) + String.fromCodePoint((text.codePointAt(text.length - 1) ?? 0) + 1);
}

/** Returns the condition for all texts of a column that begin with this. Compares characters, because LIKE and GLOB would interpret some. */
export function toBeginning(column: "id" | "session", text: string): Condition {
  return { sql: `${column} >= ? AND ${column} < ?`, values: [text, `${text}\u{10FFFF}`] };
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
