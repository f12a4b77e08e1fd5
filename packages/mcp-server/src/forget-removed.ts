import { isSessionId, type GcReport, type SessionRegister } from "@budgie/core";

/** Strikes off the sessions of which nothing is left. */
export async function forgetRemoved({ failed, kept, removed }: GcReport, register: SessionRegister): Promise<void> {
  const left = new Set([...failed, ...kept].map(({ session }) => session));
  const gone = new Set(removed.map(({ session }) => session).filter((session) => !left.has(session)));
  for (const session of gone) if (session !== undefined && isSessionId(session)) await register.remove(session);
}
