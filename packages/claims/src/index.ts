// The public API of @budgie/claims. Every export is named here.
export { CLAIM_GROUPS, CLAIMS } from "./claims.ts";
export type { ServeAgents, ServingPlace } from "./lab/lab-servers.ts";
export type { LabOptions } from "./lab/lab.ts";
export type { ShownContainer, Tampering, Target, TargetEngine, TargetOptions } from "./lab/target.ts";
export type { Claim, Probe, Verdict, Protection } from "./probe/claim.ts";
export { isMoot } from "./probe/verdicts.ts";
export { prove, type ClaimResult, type ProveOptions } from "./prove.ts";
export { tryEgress, type EgressAnswer, type EgressTrial } from "./try-egress.ts";
