import type { Limits } from "@budgie/core/policy";
import type { PodLimits } from "./pod-shape.ts";

/** The most that a copy of a workspace takes, with what the agent adds to it. */
const COPY_BYTES = 10 * 1024 ** 3;

/** Returns the limits of the Pod in which a turn with these limits runs. */
export function toPodLimits({ cpus, diskBytes, memoryBytes, tmpBytes }: Limits): PodLimits {
  return { cpus, memoryBytes, homeBytes: diskBytes, copyBytes: COPY_BYTES, tmpBytes };
}
