import { BudgieError } from "@budgie/core";
import type { RegisterEntry, SessionRegister } from "@budgie/core/sessions";

/** Finds the session that `budgie run` used last with this agent, directory and isolation. Throws `SESSION_NOT_FOUND`. */
export async function findLastSession(
  register: Pick<SessionRegister, "list">,
  { agent, directory, isolation }: Pick<RegisterEntry, "agent" | "directory" | "isolation">,
): Promise<string> {
  const sessions = await register.list();
  const last = sessions.find(
    (session) =>
      session.origin === "run" &&
      session.agent === agent &&
      session.directory === directory &&
      session.isolation === isolation,
  );
  if (last !== undefined) return last.id;
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    `"budgie run" has no session of "${agent}" in "${directory}" to continue: it was never asked there, or too long ago. ` +
      `Leave --continue out to begin one.`,
  );
}
