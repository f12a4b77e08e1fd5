import type { Verdict } from "./claim.ts";
import { NOT_IN_THIS_KERNEL } from "./not-in-this-kernel.ts";

/** Whether a probe found nothing to attack: no proof either way, and one on a kernel that has the thing. */
export function isMoot({ detail, outcome }: Verdict): boolean {
  return outcome === "untried" && detail.startsWith(NOT_IN_THIS_KERNEL);
}
