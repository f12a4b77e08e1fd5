/** The name of Kiro's database in its data folder. */
export const DATABASE = "data.sqlite3";

/** Suffixes of the files from which SQLite recovers a database. */
export const COMPANIONS = ["-wal", "-shm", "-journal"] as const;

/** The condition for the rows of `state` that an Identity Center login needs: profile and region. No other rows leave the host. */
export const LOGIN_STATE = `key = 'api.codewhisperer.profile' OR key LIKE 'auth.idc.%'`;

/** The size limit of a session's database: a long conversation may have tens of megabytes. */
export const LARGEST_DATABASE_BYTES = 256 * 1024 * 1024;
