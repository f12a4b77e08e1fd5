import type { Owner } from "../owners/owner.ts";
import type { GcPolicy, GcReport, Runner } from "../runner/runner.ts";
import { isSessionId } from "../runner/session-id.ts";
import type { SessionRegister } from "../sessions/session-register.ts";

/** Removes what dead budgies left. Resolves to a line for each failure. */
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

/** Removes register entries whose resources are gone, or whose owner is dead and whose keep time has expired. */
export async function forgetRemoved(
  { failed, kept, removed }: GcReport,
  register: SessionRegister,
  owner: Pick<Owner, "stateOf">,
): Promise<void> {
  const left = new Set([...failed, ...kept].map(({ session }) => session));
  const gone = new Set(removed.map(({ session }) => session).filter((session) => !left.has(session)));
  for (const session of gone) if (session !== undefined && isSessionId(session)) await register.remove(session);
  // Another budgie, with another state directory, may have removed the resources.
  const written = await register.list().catch(() => []);
  for (const { id, keepMs = 0, owner: whose, usedMs } of written) {
    if (left.has(id) || Date.now() - usedMs <= keepMs) continue;
    if ((await owner.stateOf(whose, "state-directory")) === "dead") await register.remove(id);
  }
}
