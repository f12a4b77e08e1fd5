// The public surface of @budgie/runner-local: every export is named here, and becomes API.
export { createLocalHomes, type LocalHomesOptions } from "./maintenance/local-homes.ts";
export { removeTree } from "./maintenance/remove-tree.ts";
export { createLocalRunner, type LocalRunnerOptions } from "./local-runner.ts";
export { pickHostEnvironment } from "./turn/pick-host-environment.ts";
