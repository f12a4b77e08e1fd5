// The public surface of @budgie/runner-docker: every export is named here, and becomes API.
export { buildSandboxImage, type BuildOptions } from "./build-sandbox-image.ts";
export type { Claim, Probe, Verdict, Wall } from "./claims/claim.ts";
export { CLAIM_GROUPS, CLAIMS } from "./claims/claims.ts";
export { prove, type ClaimResult, type ProveOptions } from "./claims/prove.ts";
export { collectDockerGarbage, type CollectOptions } from "./collect-docker-garbage.ts";
export type { Credentials } from "./credentials.ts";
export { createDockerRunner, type DockerRunnerOptions } from "./docker-runner.ts";
export { inspectSandbox, type InspectOptions, type SandboxFacts } from "./inspect-sandbox.ts";
