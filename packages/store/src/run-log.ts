import type { Run, RunLog } from "@budgie/core";
import { toRow, toRun } from "./run-row.ts";
import type { Database } from "./sqlite.ts";
import { createStateDatabase } from "./state-database.ts";

/** A run log in a file that several processes write and read. */
export type RunLogFile = RunLog & {
  /** The last runs, the newest first; throws a `BudgieError` if they cannot be read */
  readonly recent: (query: RunQuery) => Promise<readonly Run[]>;
  readonly close: () => void;
};

export type RunQuery = {
  /** How many at most */
  readonly limit: number;
  /** `undefined` for all */
  readonly agent: string | undefined;
};

export type RunLogOptions = {
  readonly stateDir: string;
  /** Told once why runs are not kept */
  readonly report: (line: string) => void;
};

/** The oldest go when there are more */
const RUNS_KEPT = 10_000;

/** Creates the log; nothing is looked at or loaded before the first run. */
export function createRunLog({ report, stateDir }: RunLogOptions): RunLogFile {
  const state = createStateDatabase(stateDir);
  let hasReported = false;

  return {
    async record(run) {
      try {
        insert(await state.connect(), run);
      } catch (error) {
        if (!hasReported) report(`Turns are not logged: ${state.toProblem(error).message}`);
        hasReported = true;
      }
    },
    async recent({ agent, limit }) {
      if (!state.exists()) return [];
      try {
        const database = await state.connect();
        const [where, values] = agent === undefined ? ["", []] : ["WHERE agent = ?", [agent]];
        return database.all(`SELECT * FROM runs ${where} ORDER BY number DESC LIMIT ?`, ...values, limit).map(toRun);
      } catch (error) {
        throw state.toProblem(error);
      }
    },
    close: state.close,
  };
}

function insert(database: Database, run: Run): void {
  const row = toRow(run);
  const columns = Object.keys(row);
  database.exec("BEGIN IMMEDIATE");
  try {
    database.run(
      `INSERT INTO runs (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      ...Object.values(row),
    );
    database.run("DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - ?", RUNS_KEPT);
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
