import { randomUUID } from "node:crypto";
import { BudgieError } from "../errors.ts";

/** The name of one conversation: a UUID that budgie minted. */
export type SessionId = string & { readonly __brand: "SessionId" };

// Version 4, lower case, as `randomUUID` writes it: an id becomes part of a volume name and of a path.
const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Mints the id of a new session. */
export function createSessionId(): SessionId {
  return randomUUID() as SessionId;
}

/** Tells whether a text has the form of a session id; says nothing about whether the session exists. */
export function isSessionId(text: string): text is SessionId {
  return FORM.test(text);
}

/** Checks the form of an id that came from outside, or throws `INPUT_INVALID`. */
export function parseSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  throw new BudgieError(
    "INPUT_INVALID",
    `The session id ${JSON.stringify(text.slice(0, 64))} is not one that budgie gave out. ` +
      `Pass the "sessionId" of an earlier answer, or leave it out to begin a new session.`,
  );
}
