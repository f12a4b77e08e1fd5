import { BudgieError, type Owner } from "@budgie/core";
import type { Run, RunQuery } from "@budgie/core/runs";

import { findRuns, parseRuns, toBeginning } from "./find-runs.ts";
import { forgetRuns } from "../record/forget-runs.ts";
import type { RecordMark } from "../record/record-turn.ts";
import type { Database, Row } from "../database/sqlite.ts";
import { createStateDatabase } from "../database/state-database.ts";
import { sumUsage, type UsageQuery, type UsageSum } from "./sum-usage.ts";
import { NO_RECORD, verifyRecord, type RecordReport } from "../record/verify-record.ts";

/** The run log of a state directory, for commands that read it. Each function throws a `BudgieError` if it cannot be read. */
export type RunArchive = {
  /** Finds the last runs, the newest first */
  readonly recent: (query: RunQuery) => Promise<readonly Run[]>;
  /** Lists the first sessions of the log whose ids begin with this */
  readonly sessions: (beginning: string) => Promise<readonly string[]>;
  /** Finds the run whose id begins with `id`; throws `INPUT_INVALID` if there is none or more than one */
  readonly find: (id: string) => Promise<RunRecord>;
  /** Adds up the costs of turns */
  readonly usage: (query: UsageQuery) => Promise<readonly UsageSum[]>;
  /** Finds what the agent of a run printed, by the beginning of its id; `undefined` if there is no such run */
  readonly transcript: (id: string) => Promise<Transcript | undefined>;
  /** Compares turns with their record, which contains `noted` as an earlier head */
  readonly verify: (noted?: RecordMark) => Promise<RecordReport>;
  /** Removes runs, their answers and transcripts permanently, and returns their ids. Runs that have not ended are kept. */
  readonly remove: (choice: RunChoice) => Promise<readonly string[]>;
  readonly close: () => void;
};

/** A run with its answer. */
export type RunRecord = Run & {
  /** `undefined` if there was none, or it was removed */
  readonly answer: string | undefined;
};

/** The transcript of a run. */
export type Transcript = Pick<Run, "id" | "outcome"> & {
  /** The end of what the agent printed; `undefined` if it was not kept */
  readonly text: string | undefined;
};

/** A selection of runs: by ids or beginnings of ids, by age, or all of them. */
export type RunChoice = { readonly ids: readonly string[] } | { readonly olderThanMs: number } | "all";

type ArchiveOptions = { readonly stateDir: string; readonly owner: Owner };

/** Opens the archive of a state directory. Creates no file if there is no log. */
export function createRunArchive({ owner, stateDir }: ArchiveOptions): RunArchive {
  const state = createStateDatabase(stateDir);

  async function read<T>(work: (database: Database) => Promise<T>, none: () => T): Promise<T> {
    if (!state.exists()) return none();
    try {
      return await work(await state.connect());
    } catch (error) {
      throw state.toProblem(error);
    }
  }

  return {
    recent: (query) =>
      read(
        (database) => findRuns(database, owner, query),
        () => [],
      ),
    sessions: (beginning) =>
      read(
        async (database) => findSessions(database, beginning),
        () => [],
      ),
    find: (id) =>
      read(
        async (database) => findOne(database, owner, id),
        () => refuse(id),
      ),
    usage: (query) =>
      read(
        async (database) => sumUsage(database, query),
        () => [],
      ),
    transcript: (id) =>
      read(
        async (database) => findTranscript(database, owner, id),
        () => undefined,
      ),
    verify: (noted) =>
      read(
        async (database) => verifyRecord(database, noted),
        () => (noted === undefined ? NO_RECORD : { ...NO_RECORD, fault: { kind: "cut-off", entry: 1 } }),
      ),
    remove: (choice) =>
      read(
        async (database) => removeRuns(database, await choose(database, owner, choice)),
        () => (choice !== "all" && "ids" in choice ? choice.ids.map(refuse) : []),
      ),
    close: state.close,
  };
}

function findSessions(database: Database, beginning: string): readonly string[] {
  const { sql, values } = toBeginning("session", beginning);
  const rows = database.all(`SELECT DISTINCT session FROM runs WHERE ${sql} LIMIT ?`, ...values, MOST_NAMED + 1);
  return rows.map(({ session }) => String(session));
}

async function findOne(database: Database, owner: Owner, id: string): Promise<RunRecord> {
  const row = findRow(database, id);
  const [run = refuse(id)] = await parseRuns([row], owner);
  return { ...run, answer: findText(database, "answers", row) };
}

async function findTranscript(database: Database, owner: Owner, id: string): Promise<Transcript | undefined> {
  const row = findOnlyRow(database, id);
  const [run] = row === undefined ? [] : await parseRuns([row], owner);
  if (row === undefined || run === undefined) return undefined;
  return { id: run.id, outcome: run.outcome, text: findText(database, "transcripts", row) };
}

function findText(database: Database, table: "answers" | "transcripts", { number = null }: Row): string | undefined {
  const [found] = database.all(`SELECT text FROM ${table} WHERE run = ?`, number);
  return found === undefined ? undefined : String(found["text"]);
}

const MOST_NAMED = 5;

function findRow(database: Database, id: string): Row {
  return findOnlyRow(database, id) ?? refuse(id);
}

function findOnlyRow(database: Database, id: string): Row | undefined {
  const { sql, values } = toBeginning("id", id);
  const rows = database.all(`SELECT * FROM runs WHERE ${sql} ORDER BY id LIMIT ?`, ...values, MOST_NAMED + 1);
  const [row, ...others] = id === "" ? [] : rows;
  if (others.length === 0) return row;
  const named = rows.slice(0, MOST_NAMED).map((candidate) => `"${String(candidate["id"])}"`);
  throw new BudgieError(
    "INPUT_INVALID",
    `The ids of several runs begin with "${id}", such as ${named.join(", ")}. Give more of the id.`,
  );
}

function refuse(id: string): never {
  throw new BudgieError(
    "INPUT_INVALID",
    `There is no run ${JSON.stringify(id.slice(0, 64))} in the log. "budgie runs ls" lists all that are there.`,
  );
}

// The columns that tell whether a run is over; the others of a whole log would fill the memory.
const STATE = "id, owner, started, ended, outcome";

async function choose(database: Database, owner: Owner, choice: RunChoice): Promise<readonly string[]> {
  if (choice !== "all" && "ids" in choice) return chooseNamed(database, owner, choice.ids);
  const rows =
    choice === "all"
      ? database.all(`SELECT ${STATE} FROM runs`)
      : database.all(`SELECT ${STATE} FROM runs WHERE started <= ?`, Date.now() - choice.olderThanMs);
  return (await parseRuns(rows, owner)).filter(({ outcome }) => outcome !== "running").map(({ id }) => id);
}

async function chooseNamed(database: Database, owner: Owner, named: readonly string[]): Promise<readonly string[]> {
  const rows = named.map((id) => findRow(database, id));
  const running = (await parseRuns(rows, owner)).find(({ outcome }) => outcome === "running");
  if (running === undefined) return [...new Set(rows.map(({ id }) => String(id)))];
  throw new BudgieError("INPUT_INVALID", `The run "${running.id}" has not ended yet. Remove it once it has.`);
}

/** Removes runs, and overwrites their text in the file and in the write-ahead log. */
function removeRuns(database: Database, ids: readonly string[]): readonly string[] {
  database.exec("PRAGMA secure_delete = ON");
  forgetRuns(database, "id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
  return ids;
}
