import { chooseDefaultLimits, type Limits } from "@budgie/core/policy";

/** An agent that builds or tests may use two processors. */
const CPUS = 2;

/** Returns the limits of turns on a cluster: those that the user set, and defaults. */
export function chooseClusterLimits(set: Partial<Limits> = {}): Limits {
  return { ...chooseDefaultLimits(CPUS), cpus: CPUS, ...set };
}
