// The public surface of @budgie/sandbox/standby: every export is named here, and becomes API.
export { createRunnerStandbys } from "./runner-standbys.ts";
export { sandboxKey } from "./sandbox-key.ts";
