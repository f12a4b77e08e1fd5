import { randomUUID } from "node:crypto";
import type { KiroDatabase } from "./database.ts";

/** The login of this process. */
export type Login = "api-key" | "invalid-api-key" | "token" | "none";

type Token = {
  readonly access_token: string;
  readonly expires_at: string;
  readonly refresh_token?: string | null;
  readonly region?: string;
  readonly start_url?: string;
  readonly oauth_flow?: string;
};

/** Loads the login, and refreshes a token that is about to expire, which writes to the database. */
export function findLogin(database: KiroDatabase, env: NodeJS.ProcessEnv): Login {
  const apiKey = env["KIRO_API_KEY"];
  if (apiKey === "invalid") return "invalid-api-key";
  if (apiKey) return "api-key";
  return loadToken(database) === undefined ? "none" : "token";
}

/** Returns the login for `whoami`; `undefined` without one. */
export function loadAccount(database: KiroDatabase): Account | undefined {
  const token = loadToken(database);
  if (token === undefined) return undefined;
  const startUrl = token.start_url ?? BUILDER_ID;
  const accountType = startUrl === BUILDER_ID ? "BuilderId" : "IamIdentityCenter";
  return { accountType, email: null, startUrl, region: token.region ?? "us-east-1" };
}

export type Account = {
  readonly accountType: "BuilderId" | "IamIdentityCenter";
  readonly email: null;
  readonly startUrl: string;
  readonly region: string;
};

const BUILDER_ID = "https://view.awsapps.com/start";
const REGISTRATION_KEY = "kirocli:odic:device-registration";

function loadToken(database: KiroDatabase): Token | undefined {
  for (const key of ["kirocli:odic:token", "kirocli:social:token"]) {
    const token = loadRow<Token>(database, key);
    if (token !== undefined) return isExpired(token) ? refresh(database, key, token) : token;
  }
  return undefined;
}

function isExpired({ expires_at }: Token): boolean {
  return new Date(expires_at).getTime() - Date.now() < 60_000;
}

/** Refreshes a token. If that fails or the refresh token was used elsewhere, deletes it: the user is logged out. */
function refresh(database: KiroDatabase, key: string, token: Token): Token | undefined {
  const registration = loadRow<{ oauth_flow?: string }>(database, REGISTRATION_KEY);
  const sameFlow = key.includes("social") || registration?.oauth_flow === token.oauth_flow;
  if (!token.refresh_token || !sameFlow || token.refresh_token.includes("revoked")) {
    database.prepare("DELETE FROM auth_kv WHERE key = ?").run(key);
    return undefined;
  }
  const renewed: Token = {
    ...token,
    access_token: `refreshed-${randomUUID()}`,
    refresh_token: `rotated-${randomUUID()}`,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  database.prepare("UPDATE auth_kv SET value = ? WHERE key = ?").run(JSON.stringify(renewed), key);
  return renewed;
}

function loadRow<T>(database: KiroDatabase, key: string): T | undefined {
  const value = database.prepare<[string], string>("SELECT value FROM auth_kv WHERE key = ?").pluck().get(key);
  if (value === undefined) return undefined;
  try {
    return JSON.parse(value) as T;
  } catch {
    return undefined;
  }
}
