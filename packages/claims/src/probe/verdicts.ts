import { BudgieError, type ErrorCode } from "@budgie/core";
import type { Verdict } from "./claim.ts";

/** How the report of a probe begins that finds nothing to attack, with its protections or without. */
export const NOT_IN_THIS_KERNEL = "this kernel has no";

/** The protection held. */
export const held = (detail: string): Verdict => ({ outcome: "held", detail: detail.slice(0, 300) });

/** The attacker got what the claim says is out of reach. */
export const through = (detail: string): Verdict => ({ outcome: "got-through", detail: detail.slice(0, 300) });

/** The attack could not be made, or nothing can be said of it. */
export const untried = (detail: string): Verdict => ({ outcome: "untried", detail: detail.slice(0, 300) });

/** Held if an attack is refused with one of these codes; through if its output has the evidence. */
export async function toRefusal(
  attack: Promise<string>,
  evidence: string,
  codes: readonly ErrorCode[],
): Promise<Verdict> {
  try {
    const output = await attack;
    return output.includes(evidence) ? through("the agent had it") : untried(`it ran, and said: ${output.trim()}`);
  } catch (error) {
    if (error instanceof BudgieError && codes.includes(error.code)) return held(error.message);
    throw error;
  }
}

/** Held if an attack is refused with `WORKSPACE_INVALID`, or printed `over` at its end and no evidence. */
export async function toHidden(attack: Promise<string>, evidence: string): Promise<Verdict> {
  const verdict = await toRefusal(attack, evidence, ["WORKSPACE_INVALID"]);
  return verdict.outcome === "untried" && /\bover$/.test(verdict.detail) ? held("it is hidden") : verdict;
}

/** Whether a probe found nothing to attack: no proof either way, and one on a kernel that has the thing. */
export function isMoot({ detail, outcome }: Verdict): boolean {
  return outcome === "untried" && detail.startsWith(NOT_IN_THIS_KERNEL);
}
