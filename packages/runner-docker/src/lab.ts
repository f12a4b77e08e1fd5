// Exports for @budgie/claims only, which attacks sandboxes. They are no API, and may change at any time.
export { createDockerRunner, type RunnerParts } from "./docker-runner.ts";
export type { Weaker } from "./engine/engine-protection.ts";
export { connectEngine } from "./engine/engine.ts";
export type { HostEnvironment } from "./engine/find-endpoints.ts";
