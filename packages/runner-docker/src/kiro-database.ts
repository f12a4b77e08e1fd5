/** The name of Kiro's database in its data folder. */
export const DATABASE = "data.sqlite3";

/** The files beside a database that SQLite would play back over it. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/** The profile and the region that an Identity Center login needs; all else in `state` is the host's own business. */
export const LOGIN_STATE = `key = 'api.codewhisperer.profile' OR key LIKE 'auth.idc.%'`;

/** The most bytes that budgie takes of a session's database: a long conversation may be tens of megabytes. */
export const LARGEST_DATABASE_BYTES = 256 * 1024 * 1024;
