// The public surface of @budgie/runner-kubernetes/lease: every export is named here, and becomes API.
export { discardPod } from "./discard-pod.ts";
export { collectGarbage, type Collecting } from "./collect-garbage.ts";
export { createLeaseJudge, type LeaseJudge } from "./create-lease-judge.ts";
export { holdLease, type HeldLease } from "./hold-lease.ts";
export { listSessions } from "./list-sessions.ts";
export { OURS, parseMetadata, toMetadata, type ObjectFacts, type ObjectRole } from "./to-metadata.ts";
