import { existsSync } from "node:fs";
import { join } from "node:path";
import { BudgieError, type Run, type RunLog } from "@budgie/core";
import { openStateDatabase, STATE_DATABASE } from "./open-state-database.ts";
import { toRow, toRun } from "./run-row.ts";
import type { Database } from "./sqlite.ts";

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
  const path = join(stateDir, STATE_DATABASE);
  let opening: Promise<Database> | undefined;
  let open: Database | undefined;
  let hasReported = false;

  async function connect(): Promise<Database> {
    opening ??= openStateDatabase(path);
    try {
      open = await opening;
      return open;
    } catch (error) {
      // A full disk may have room again by the next turn.
      opening = undefined;
      throw error;
    }
  }

  return {
    async record(run) {
      try {
        insert(await connect(), run);
      } catch (error) {
        if (!hasReported) report(`Turns are not logged: ${toProblem(error, path).message}`);
        hasReported = true;
      }
    },
    async recent({ agent, limit }) {
      if (open === undefined && !existsSync(path)) return [];
      try {
        const database = await connect();
        const [where, values] = agent === undefined ? ["", []] : ["WHERE agent = ?", [agent]];
        return database.all(`SELECT * FROM runs ${where} ORDER BY number DESC LIMIT ?`, ...values, limit).map(toRun);
      } catch (error) {
        throw toProblem(error, path);
      }
    },
    close() {
      open?.close();
      open = undefined;
      opening = undefined;
    },
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

function toProblem(error: unknown, path: string): BudgieError {
  if (error instanceof BudgieError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new BudgieError(
    "CONFIG_INVALID",
    `Cannot use the run log "${path}" (${reason}). Make it writable, or move it away if it is broken.`,
    { cause: error },
  );
}
