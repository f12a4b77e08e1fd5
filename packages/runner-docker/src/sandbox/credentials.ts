/**
 * What of the host's login a sandbox gets. `full`: every row of it; `access-token`: what it takes to be logged in until the
 * token runs out, and nothing that renews it; `api-key` and `none`: no row.
 */
export type Credentials = "full" | "access-token" | "api-key" | "none";
