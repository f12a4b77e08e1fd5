import { CLAIMS } from "@budgie/claims";

/**
 * The claims that budgie holds in its own process, whatever engine runs the sandbox. Their probes run on the machine's engine, with
 * their controls. `only-allowed-names` is none of them: it shows on each engine that a sandbox's way out ends at the proxy.
 */
const HELD_BY_BUDGIE: ReadonlySet<string> = new Set([
  "guarded-directories",
  "named-directories",
  "allowed-roots",
  "only-tighter",
  "session-ids",
  "no-outside-names",
  "reported-changes",
  "only-public-addresses",
  "only-for-its-host",
  "no-rebinding",
  "no-smuggled-requests",
  "only-allowed-tools",
]);

/** The claims that an engine could break. */
export const ON_EACH_ENGINE = CLAIMS.filter(({ id }) => !HELD_BY_BUDGIE.has(id));
