// The public surface of @budgie/store: every export is named here, and becomes API.
export { createRunLog, type RunLogFile, type RunQuery } from "./run-log.ts";
export { createSessionRegister, type SessionRegisterFile } from "./session-register.ts";
export { loadSqlite, type Database, type Row, type Sqlite } from "./sqlite.ts";
