// The public surface of @budgie/runner-kubernetes/proof: every export is named here, and becomes API.
export type { Breach, Target, Wall } from "./judge-walls.ts";
export { parseProbeReport, type ProbeReport } from "./probe-report.ts";
export { proveWalls, type Proving } from "./prove-walls.ts";
