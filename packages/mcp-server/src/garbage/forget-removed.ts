import { isSessionId, type GcReport, type Owner, type SessionRegister } from "@budgie/core";

/** Strikes off the sessions of which nothing is left, and those that nobody can go on with any more. */
export async function forgetRemoved(
  { failed, kept, removed }: GcReport,
  register: SessionRegister,
  owner: Pick<Owner, "stateOf">,
): Promise<void> {
  const left = new Set([...failed, ...kept].map(({ session }) => session));
  const gone = new Set(removed.map(({ session }) => session).filter((session) => !left.has(session)));
  for (const session of gone) if (session !== undefined && isSessionId(session)) await register.remove(session);
  // Another budgie, with another state directory, may have removed what they had.
  const written = await register.list().catch(() => []);
  for (const { id, keepMs = 0, owner: whose, usedMs } of written) {
    if (left.has(id) || Date.now() - usedMs <= keepMs) continue;
    if ((await owner.stateOf(whose, "state-directory")) === "dead") await register.remove(id);
  }
}
