// The public surface of @budgie/runner-local: every export is named here, and becomes API.
export { createLocalHomes, type LocalHomesOptions } from "./maintenance/session-homes.ts";
export { createLocalRunner, type LocalRunnerOptions } from "./local-runner.ts";
export { toHostEnvironment } from "./turn/host-environment.ts";
