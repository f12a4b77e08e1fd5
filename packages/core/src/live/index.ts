// The public surface of @budgie/core/live: every export is named here, and becomes API.
export { createLiveRuns, type LiveRuns } from "./live-runs.ts";
export { runAnswer, type LiveRun, type RunRequest } from "./run-request.ts";
