import { randomUUID } from "node:crypto";
import type { KiroDatabase } from "./open-database.ts";

/** The login of this process. */
export type Login = "api-key" | "invalid-api-key" | "token" | "none";

/** The fields of a stored token that the stand-in reads. */
export type Token = {
  readonly expires_at: string;
  readonly refresh_token?: string | null;
  readonly start_url?: string;
};

/** Finds the login, and refreshes a token that is about to expire, which writes to the database. */
export function findLogin(database: KiroDatabase, env: NodeJS.ProcessEnv): Login {
  const apiKey = env["KIRO_API_KEY"];
  if (apiKey === "invalid") return "invalid-api-key";
  if (apiKey) return "api-key";
  return findToken(database) === undefined ? "none" : "token";
}

const KEY = "kirocli:odic:token";

/** Finds the stored token. Deletes an expired one that cannot be refreshed: the user is logged out. */
export function findToken(database: KiroDatabase): Token | undefined {
  const value = database.prepare<[string], string>("SELECT value FROM auth_kv WHERE key = ?").pluck().get(KEY);
  const token = value === undefined ? undefined : parseToken(value);
  if (token === undefined || new Date(token.expires_at).getTime() - Date.now() > 60_000) return token;
  if (!token.refresh_token) {
    database.prepare("DELETE FROM auth_kv WHERE key = ?").run(KEY);
    return undefined;
  }
  const renewed = {
    ...token,
    access_token: `refreshed-${randomUUID()}`,
    refresh_token: `rotated-${randomUUID()}`,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  database.prepare("UPDATE auth_kv SET value = ? WHERE key = ?").run(JSON.stringify(renewed), KEY);
  return renewed;
}

function parseToken(value: string): Token | undefined {
  try {
    return JSON.parse(value) as Token;
  } catch {
    return undefined;
  }
}
