// The public surface of @budgie/runner-kubernetes/proof: every export is named here, and becomes API.
export { createGate, type Gate } from "./gate.ts";
export type { Breach, Wall } from "./judge-walls.ts";
