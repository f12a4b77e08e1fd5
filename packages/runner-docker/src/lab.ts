// Exports for @budgie/claims only, which attacks sandboxes. They are no API, and may change at any time.
export { lookIntoProcess } from "./container-files/container-root.ts";
export type { LookInto } from "./container-files/look-into.ts";
export { createDockerRunner } from "./docker-runner.ts";
export { sharesNetwork } from "./engine/check-runtime.ts";
export type { Weaker } from "./engine/engine-protections.ts";
export { connectEngine } from "./engine/engine.ts";
export type { HostEnvironment } from "./engine/find-engine.ts";
export { createKiroLogin } from "./login/create-kiro-login.ts";
export { DATABASE } from "./login/kiro-database.ts";
