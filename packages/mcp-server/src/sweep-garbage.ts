import type { GcPolicy, Runner, SessionRegister } from "@budgie/core";

/** Removes what budgies which are gone left, and answers with what it could not remove. */
export async function sweepGarbage(runner: Runner, register: SessionRegister): Promise<readonly string[]> {
  const policy: GcPolicy = { olderThanMs: 0, dryRun: false, sessions: (id) => register.find(id) };
  const { failed } = await runner.collectGarbage(policy);
  return failed.map(({ kind, name, why }) => `${kind} ${name}: ${why}`);
}
