import { chooseDefaultLimits, type Limits } from "@budgie/core/policy";

/** An agent that works has two processors, as a small node has to spare. */
const CPUS = 2;

/** Returns the limits of turns on a cluster: those that the user set, and defaults. */
export function chooseClusterLimits(set: Partial<Limits> = {}): Limits {
  return { ...chooseDefaultLimits(CPUS), cpus: CPUS, ...set };
}
