// The public surface of @budgie/core/sessions: every export is named here, and becomes API.
export type { RegisterEntry, SessionRegister } from "./session-register.ts";
export { createSessionStore, type SessionStore } from "./session-store.ts";
export type { Session } from "./session.ts";
