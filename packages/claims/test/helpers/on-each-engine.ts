import { CLAIMS } from "@budgie/claims";

/**
 * The claims that budgie holds in its own process, whatever engine runs the sandbox, by probes with turns of their own. They are tried on the
 * machine's engine, with their controls.
 */
const HELD_BY_BUDGIE: ReadonlySet<string> = new Set([
  "only-tighter",
  "no-outside-names",
  "reported-changes",
  "no-rebinding",
  "only-allowed-tools",
  "session-ids",
  "credentials",
  "login-only",
  "copied-database",
  "reported-hooks",
  "own-servers",
  "bounded-servers",
  "bounded-connections",
]);

/** The claims that an engine could break. */
export const ON_EACH_ENGINE = CLAIMS.filter(({ id }) => !HELD_BY_BUDGIE.has(id));
