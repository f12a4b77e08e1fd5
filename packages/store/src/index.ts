// The public surface of @budgie/store: every export is named here, and becomes API.
export { createBudgetLedger, type LedgerOptions } from "./budget/budget-ledger.ts";
export { underWay, type ApplyJournal } from "./begin-apply.ts";
export {
  createChangeArchive,
  type ChangeArchive,
  type ChangeRecord,
  type ChangeState,
  type ListedSets,
} from "./change-archive.ts";
export {
  createRunArchive,
  type RunArchive,
  type RunChoice,
  type RunRecord,
  type Transcript,
} from "./runs/run-archive.ts";
export { createRunLog, type RunLogFile, type RunLogOptions } from "./runs/run-log.ts";
export type { Retention } from "./runs/prune-runs.ts";
export { createSessionRegister, type RegisterFile } from "./session-register.ts";
export { USAGE_KEYS, type UsageQuery, type UsageSum } from "./runs/sum-usage.ts";
export type { RecordMark } from "./record/record-turn.ts";
export type { RecordFault, RecordReport } from "./record/verify-record.ts";
export { findSqliteProblem, loadSqlite, type Database, type Row, type Sqlite } from "./database/sqlite.ts";
