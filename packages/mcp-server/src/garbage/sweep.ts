import type { GcPolicy, Owner, Runner, SessionRegister } from "@budgie/core";
import { forgetRemoved } from "./forget-removed.ts";

/** Removes what budgies which are gone left, and answers with what it could not remove. */
export async function sweepGarbage(
  runner: Runner,
  register: SessionRegister,
  owner: Owner,
): Promise<readonly string[]> {
  const policy: GcPolicy = { olderThanMs: 0, dryRun: false, sessions: (id) => register.find(id) };
  const report = await runner.collectGarbage(policy);
  await forgetRemoved(report, register, owner);
  return report.failed.map(({ kind, name, why }) => `${kind} ${name}: ${why}`);
}
