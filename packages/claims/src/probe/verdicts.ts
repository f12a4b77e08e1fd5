import { BudgieError, type ErrorCode } from "@budgie/core";
import { NO_SERVERS } from "../lab/lab-servers.ts";
import { NO_ENGINE } from "../lab/target.ts";
import type { Verdict } from "./claim.ts";

/** The first words of a report that there is nothing to attack, with or without protections. */
export const NOT_IN_THIS_KERNEL = "this kernel has no";

/** Creates the verdict that the protection held. */
export const held = (detail: string): Verdict => ({ outcome: "held", detail: detail.slice(0, 300) });

/** Creates the verdict that the attacker got what the claim denies. */
export const through = (detail: string): Verdict => ({ outcome: "got-through", detail: detail.slice(0, 300) });

/** Creates the verdict that the attack could not be made, or proved nothing. */
export const untried = (detail: string): Verdict => ({ outcome: "untried", detail: detail.slice(0, 300) });

/** Judges an attack as held if it is refused with one of these codes, and as through if its output contains the evidence. */
export async function judgeRefusal(
  attack: Promise<string>,
  evidence: string,
  codes: readonly ErrorCode[],
): Promise<Verdict> {
  try {
    const output = await attack;
    return output.includes(evidence) ? through("the agent got it") : untried(`it ran and printed: ${output.trim()}`);
  } catch (error) {
    if (error instanceof BudgieError && codes.includes(error.code)) return held(error.message);
    throw error;
  }
}

/** Judges an attack as held if it is refused with `WORKSPACE_INVALID`, or if its output ends with `over` and lacks the evidence. */
export async function judgeHidden(attack: Promise<string>, evidence: string): Promise<Verdict> {
  const verdict = await judgeRefusal(attack, evidence, ["WORKSPACE_INVALID"]);
  return verdict.outcome === "untried" && /\bover$/.test(verdict.detail) ? held("it is hidden") : verdict;
}

/** Tells whether a probe found nothing to attack. It proves nothing here, but would on a kernel, engine or runner with that feature. */
export function isMoot({ detail, outcome }: Verdict): boolean {
  return outcome === "untried" && (detail.startsWith(NOT_IN_THIS_KERNEL) || [NO_SERVERS, NO_ENGINE].includes(detail));
}
