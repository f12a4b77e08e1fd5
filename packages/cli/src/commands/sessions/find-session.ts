import { BudgieError, parseSessionId } from "@budgie/core";
import { expandId } from "../../terminal/expand-id.ts";
import type { KnownHome } from "./known-homes.ts";

/** Finds a session by its id, or what that begins with. Throws `SESSION_NOT_FOUND` if there is none. */
export function findSession(known: readonly KnownHome[], written: string): KnownHome {
  const ids = known.map(({ record }) => record.id);
  const id = parseSessionId(expandId(written, ids));
  const found = known.find(({ record }) => record.id === id);
  if (found !== undefined) return found;
  throw new BudgieError("SESSION_NOT_FOUND", `There is no session "${id}". "budgie sessions ls" lists them.`);
}
