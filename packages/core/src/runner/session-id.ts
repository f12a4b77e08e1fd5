import { randomUUID } from "node:crypto";
import { BudgieError } from "../errors.ts";

/** The id of a conversation: a UUID that budgie created. */
export type SessionId = string & { readonly __brand: "SessionId" };

// Version 4, lower case, as `randomUUID` writes it: an id becomes part of a volume name and of a path.
const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Creates the id of a new session. */
export function createSessionId(): SessionId {
  return randomUUID() as SessionId;
}

/** Returns true if a text has the form of a session id. The session need not exist. */
export function isSessionId(text: string): text is SessionId {
  return FORM.test(text);
}

/** Checks the form of a caller's session id, or throws `INPUT_INVALID`. */
export function parseSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  throw new BudgieError(
    "INPUT_INVALID",
    `The session id ${JSON.stringify(text.slice(0, 64))} is not one that budgie gave out. ` +
      `Pass the "sessionId" of an earlier answer, or leave it out to begin a new session.`,
  );
}
