/** The name of Kiro's database in its data folder. */
export const DATABASE = "data.sqlite3";

/** Endings of the files that SQLite would recover a database from. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/** Condition for the rows of `state` that an Identity Center login needs: profile and region. No others leave the host. */
export const LOGIN_STATE = `key = 'api.codewhisperer.profile' OR key LIKE 'auth.idc.%'`;

/** Bound for the size of a session's database: a long conversation may be tens of megabytes. */
export const LARGEST_DATABASE_BYTES = 256 * 1024 * 1024;
