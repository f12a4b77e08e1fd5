/**
 * The part of the host's login that a sandbox gets. `full`: all its rows; `access-token`: the rows of a login until its token
 * expires, without anything that renews it; `api-key` and `none`: no row.
 */
export type Credentials = "full" | "access-token" | "api-key" | "none";
