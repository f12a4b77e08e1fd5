// The public surface of @budgie/runner-docker: every export is named here, and becomes API.
export { buildSandboxImage, type BuildOptions, type Built } from "./image/build-sandbox-image.ts";
export { collectDockerGarbage, type CollectOptions, type CollectReport } from "./maintenance/collect-docker-garbage.ts";
export { createKiroLogin, type KiroLoginOptions } from "./login/create-kiro-login.ts";
export type { Login, LoginFacts } from "./login/login.ts";
export type { Credentials } from "./sandbox/credentials.ts";
export { openDockerHomes, type DockerHomesOptions } from "./maintenance/session-homes.ts";
export { createDockerRunner, type DockerRunnerOptions } from "./docker-runner.ts";
export { inspectSandbox, type InspectOptions, type SandboxFacts } from "./maintenance/inspect-sandbox.ts";
