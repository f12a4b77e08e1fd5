import { BudgieError, type Owner } from "@budgie/core";
import type { Run, RunQuery } from "@budgie/core/runs";

import { findRuns, parseRuns } from "./find-runs.ts";
import { inTransaction } from "./in-transaction.ts";
import type { Database, Row } from "./sqlite.ts";
import { createStateDatabase } from "./state-database.ts";
import { sumUsage, type UsageQuery, type UsageSum } from "./sum-usage.ts";

/** The run log of a state directory, for commands that read it. Each function throws a `BudgieError` if it cannot be read. */
export type RunArchive = {
  /** Finds the last runs, the newest first */
  readonly recent: (query: RunQuery) => Promise<readonly Run[]>;
  /** Finds the run whose id begins with `id`; throws `INPUT_INVALID` if there is none or more than one */
  readonly find: (id: string) => Promise<RunRecord>;
  /** Adds up the costs of turns */
  readonly usage: (query: UsageQuery) => Promise<readonly UsageSum[]>;
  /** Removes runs and their answers permanently, and returns their ids. Runs that have not ended are kept. */
  readonly remove: (choice: RunChoice) => Promise<readonly string[]>;
  readonly close: () => void;
};

/** A run with its answer. */
export type RunRecord = Run & {
  /** `undefined` if there was none, or it was removed */
  readonly answer: string | undefined;
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
    remove: (choice) =>
      read(
        async (database) => removeRuns(database, await choose(database, owner, choice)),
        () => (choice !== "all" && "ids" in choice ? choice.ids.map(refuse) : []),
      ),
    close: state.close,
  };
}

async function findOne(database: Database, owner: Owner, id: string): Promise<RunRecord> {
  const row = findRow(database, id);
  const [run = refuse(id)] = await parseRuns([row], owner);
  const [answer] = database.all("SELECT text FROM answers WHERE run = ?", row["number"] ?? null);
  return { ...run, answer: answer === undefined ? undefined : String(answer["text"]) };
}

const MOST_NAMED = 5;

function findRow(database: Database, id: string): Row {
  // Compares characters, because LIKE and GLOB would interpret some of them.
  const rows = database.all("SELECT * FROM runs WHERE substr(id, 1, ?) = ? LIMIT ?", id.length, id, MOST_NAMED + 1);
  const [row = refuse(id), ...others] = id === "" ? [] : rows;
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

async function choose(database: Database, owner: Owner, choice: RunChoice): Promise<readonly string[]> {
  if (choice !== "all" && "ids" in choice) return chooseNamed(database, owner, choice.ids);
  const rows =
    choice === "all"
      ? database.all("SELECT * FROM runs")
      : database.all("SELECT * FROM runs WHERE started <= ?", Date.now() - choice.olderThanMs);
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
  inTransaction(database, () => {
    for (const id of ids) database.run("DELETE FROM runs WHERE id = ?", id);
  });
  database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
  return ids;
}
