// The public surface of @budgie/runner-docker: every export is named here, and becomes API.
export { buildSandboxImage, type BuildOptions } from "./build-sandbox-image.ts";
export type { Claim, Probe, Verdict, Wall } from "./claims/claim.ts";
export { CLAIM_GROUPS, CLAIMS } from "./claims/claims.ts";
export { isMoot } from "./claims/is-moot.ts";
export type { LabOptions } from "./claims/lab.ts";
export { prove, type ClaimResult, type ProveOptions } from "./claims/prove.ts";
export { tryEgress, type EgressAnswer, type EgressTrial } from "./claims/try-egress.ts";
export { collectDockerGarbage, type CollectOptions } from "./collect-docker-garbage.ts";
export type { Credentials } from "./credentials.ts";
export { openDockerHomes, type DockerHomesOptions } from "./docker-homes.ts";
export { createDockerRunner, type DockerRunnerOptions } from "./docker-runner.ts";
export { inspectSandbox, type InspectOptions, type SandboxFacts } from "./inspect-sandbox.ts";
