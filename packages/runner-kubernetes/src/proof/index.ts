// The public surface of @budgie/runner-kubernetes/proof: every export is named here, and becomes API.
export { createGate, type BegunProof, type Gate } from "./gate.ts";
export { probeBeside } from "./probe-beside.ts";
export type { Breach, Wall } from "./judge-walls.ts";
