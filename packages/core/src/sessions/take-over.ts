import { formatDuration } from "../text/parse-duration.ts";
import { BudgieError } from "../errors.ts";
import type { Owner } from "../owners/owner.ts";
import type { Isolation } from "../owners/owner-record.ts";
import { sessionNotFound } from "./session.ts";
import type { RegisterEntry, SessionRegister } from "./session-register.ts";

/** The settings that let sessions outlive a process, or at least be known to others. */
export type Keeping = {
  readonly register: SessionRegister;
  readonly owner: Owner;
  /** The time that a session is kept after its last turn, also without this process; `undefined` if it ends with it */
  readonly keepMs: number | undefined;
  /** The origin of new sessions; default a server */
  readonly origin?: RegisterEntry["origin"];
};

/**
 * Makes this process the owner of a session that a dead budgie kept, or throws `SESSION_NOT_FOUND` with the reason. If several
 * processes try at once, one succeeds.
 */
export async function takeOver(
  found: RegisterEntry,
  { owner, register }: Keeping,
  isolation: Isolation,
): Promise<void> {
  const { id, keepMs, usedMs } = found;
  if (keepMs === undefined) throw sessionNotFound(id);
  refuseOtherIsolation(found, isolation);
  if (Date.now() - usedMs > keepMs) throw expired(found, keepMs);
  switch (await owner.stateOf(found.owner, "state-directory")) {
    case "own":
      // An earlier attempt became its owner, but could not open its home.
      return;
    case "live":
      throw taken(id);
    case "foreign":
      throw new BudgieError(
        "SESSION_NOT_FOUND",
        `The session "${id}" is of a budgie on another machine, or in another container. Leave "sessionId" out to begin a new one.`,
      );
    case "dead":
      // An owner in the register must hold its lock.
      await owner.hold();
      if (!(await register.pass(id, found.owner.instance, owner.record))) throw taken(id);
  }
}

function taken(id: string): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `Another budgie that runs has the session "${id}". Ask that one, or leave "sessionId" out to begin a new one.`,
  );
}

/** Throws `SESSION_NOT_FOUND` if a session was begun with another isolation than `wanted`. */
export function refuseOtherIsolation(
  { id, isolation }: Pick<RegisterEntry, "id" | "isolation">,
  wanted: Isolation,
): void {
  if (isolation === wanted) return;
  const kind = KINDS[isolation];
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    `The session "${id}" was begun ${kind}. Resume it ${kind}, or leave "sessionId" out to begin a new one.`,
  );
}

const KINDS: Readonly<Record<Isolation, string>> = {
  container: "in a sandbox",
  none: "without a sandbox",
  remote: "with an agent elsewhere",
};

function expired({ id }: RegisterEntry, keepMs: number): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `The session "${id}" has been unused for longer than the ${formatDuration(keepMs)} that it was kept for. ` +
      `Leave "sessionId" out to begin a new one.`,
  );
}
