// What only @budgie/claims needs of this package, to attack sandboxes: no API, and free to change.
export { lookIntoProcess, type LookInto } from "./container-files/container-root.ts";
export { createDockerRunner } from "./docker-runner.ts";
export type { Weaker } from "./engine/engine-protections.ts";
export { connectEngine } from "./engine/engine.ts";
export type { HostEnvironment } from "./engine/find-engine.ts";
export { DATABASE } from "./login/kiro-database.ts";
