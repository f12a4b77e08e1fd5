// The public surface of @budgie/store: every export is named here, and becomes API.
export { underWay } from "./begin-apply.ts";
export { createBudgetLedger, type LedgerOptions } from "./budget-ledger.ts";
export {
  createChangeArchive,
  type ApplyJournal,
  type ChangeArchive,
  type ChangeRecord,
  type ChangeState,
  type ListedSets,
} from "./change-archive.ts";
export { createRunArchive, type RunArchive, type RunChoice, type RunRecord, type Transcript } from "./run-archive.ts";
export { createRunLog, type RunLogFile, type RunLogOptions } from "./run-log.ts";
export type { Retention } from "./prune-runs.ts";
export { createSessionRegister, type RegisterFile } from "./session-register.ts";
export { USAGE_KEYS, type UsageQuery, type UsageSum } from "./sum-usage.ts";
export type { RecordMark } from "./record-turn.ts";
export type { RecordFault, RecordReport } from "./verify-record.ts";
export { findSqliteProblem, loadSqlite, type Database, type Row, type Sqlite } from "./sqlite.ts";
