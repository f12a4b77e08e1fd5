// The public surface of @budgie/store: every export is named here, and becomes API.
export {
  createChangeArchive,
  underWay,
  type ApplyJournal,
  type ChangeArchive,
  type ChangeRecord,
  type ChangeState,
} from "./change-archive.ts";
export { createRunArchive, type RunArchive, type RunChoice, type RunRecord } from "./run-archive.ts";
export { createRunLog, type RunLogFile, type RunLogOptions } from "./run-log.ts";
export type { Retention } from "./prune-runs.ts";
export { createSessionRegister, type RegisterFile } from "./session-register.ts";
export { findSqliteProblem, loadSqlite, type Database, type Row, type Sqlite } from "./sqlite.ts";
