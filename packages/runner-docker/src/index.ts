// The public surface of @budgie/runner-docker: every export is named here, and becomes API.
export { buildSandboxImage, type BuildOptions, type Built } from "./image/build-sandbox-image.ts";
export { buildProjectImage, findImageIds, type ProjectBuild } from "./image/build-project-image.ts";
export { collectDockerGarbage, type CollectOptions, type CollectReport } from "./maintenance/collect-docker-garbage.ts";
export { createKiroLogin, type KiroLoginOptions } from "@budgie/sandbox/login";
export type { Login, LoginFacts } from "@budgie/sandbox/login";
export type { Credentials } from "@budgie/sandbox/profile";
export { openDockerHomes, type DockerHomesOptions } from "./maintenance/open-docker-homes.ts";
export { packCommits, type CommitsPacking } from "./maintenance/pack-commits.ts";
export type { Known } from "./session/to-commits-place.ts";
export { createDockerRunner, type DockerRunnerOptions } from "./docker-runner.ts";
export { inspectSandbox, type InspectOptions, type SandboxFacts } from "./maintenance/inspect-sandbox.ts";
