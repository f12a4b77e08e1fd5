import type { Owner } from "@budgie/core";
import type { Amounts, BudgetLedger, Reserved, Standing } from "@budgie/core/budget";
import { parseBoundedJson } from "@budgie/core/bounds";
import { parseOwnerRecord, type OwnerRecord } from "@budgie/core/owners";
import { inTransaction } from "../database/in-transaction.ts";
import { reserveBudget } from "./reserve-budget.ts";
import { bindBudget, pruneBudget, settleBudget, settleLost } from "./settle-budget.ts";
import type { Database } from "../database/sqlite.ts";
import { createStateDatabase } from "../database/state-database.ts";

export type LedgerOptions = {
  readonly stateDir: string;
  /** The owner of the turns */
  readonly owner: Pick<Owner, "hold" | "record" | "stateOf">;
};

/** Creates the ledger in the database of a state directory. Nothing is opened or loaded before the first reservation. */
export function createBudgetLedger({ owner, stateDir }: LedgerOptions): BudgetLedger {
  const state = createStateDatabase(stateDir);
  // The turns whose ends could not be written, as on a full disk; the next reservation writes them.
  const unsettled = new Map<string, Amounts | undefined>();
  let prunedMs = -Infinity;

  /** Runs `work` in a transaction. Throws `STATE_UNUSABLE` if that fails: a limit that cannot be counted must not be passed. */
  async function change<T>(work: (database: Database) => T): Promise<T> {
    try {
      const database = await state.connect();
      // Survives a crash of the process, as the begin of a run does.
      database.exec("PRAGMA synchronous = NORMAL");
      const results: T[] = [];
      inTransaction(database, () => void results.push(work(database)));
      return results[0] as T;
    } catch (error) {
      throw state.toProblem(error);
    }
  }

  /** Finds the turns whose budgies died, or cannot be reached and must have ended them. */
  async function findLost(): Promise<readonly string[]> {
    const database = await state.connect();
    const rows = database.all("SELECT run, owner, ends FROM budget_turns WHERE owner <> ?", toText(owner.record));
    const records = [...new Set(rows.map((row) => String(row["owner"])))];
    const states = new Map(await Promise.all(records.map(async (text) => [text, await judge(owner, text)] as const)));
    const isLost = (text: string, endsMs: number): boolean => {
      const found = states.get(text);
      return found === "dead" || (found === "foreign" && endsMs < Date.now());
    };
    return rows.flatMap((row) => (isLost(String(row["owner"]), Number(row["ends"])) ? [String(row["run"])] : []));
  }

  async function settle(runId: string, used: Amounts | undefined): Promise<readonly Standing[]> {
    try {
      const standings = await change((database) => settleBudget(database, runId, used));
      unsettled.delete(runId);
      return standings;
    } catch (error) {
      unsettled.set(runId, used);
      throw error;
    }
  }

  return {
    async reserve(wish): Promise<Reserved> {
      // Others judge by the lock whether this turn still runs.
      await owner.hold();
      const lost = await findLost().catch((error: unknown) => {
        throw state.toProblem(error);
      });
      for (const [run, used] of unsettled) await settle(run, used).catch(() => undefined);
      return change((database) => {
        for (const run of lost) settleLost(database, run);
        if (Date.now() - prunedMs >= PRUNE_EVERY_MS) {
          pruneBudget(database);
          prunedMs = Date.now();
        }
        return reserveBudget(database, wish, owner.record);
      });
    },
    bind: (runId, sessionId) => change((database) => bindBudget(database, runId, sessionId)),
    settle,
    close: state.close,
  };
}

const PRUNE_EVERY_MS = 24 * 60 * 60 * 1000;

function toText(record: OwnerRecord): string {
  return JSON.stringify(record);
}

/** Judges the owner of a turn. A malformed record is judged by the turn's age, as one that cannot be reached. */
async function judge(owner: LedgerOptions["owner"], text: string): Promise<string> {
  const record = parseOwnerRecord(parseBoundedJson(text));
  return record === undefined ? "foreign" : owner.stateOf(record, "state-directory");
}
