import { BudgieError } from "@budgie/core";
import { isToken, type KiroLogin } from "./kiro-login.ts";
import type { Row } from "@budgie/store";

/** A login that can be used until its access tokens run out, and neither renewed nor kept. */
export type AccessTokenLogin = KiroLogin & {
  /** When the first of them runs out */
  readonly expires: Date;
};

// What is not known to be harmless is withheld: a token row of a later Kiro may renew itself by another name.
const HARMLESS: ReadonlySet<string> = new Set([
  "access_token",
  "expires_at",
  "region",
  "start_url",
  "oauth_flow",
  "scopes",
  "profile_arn",
  "provider",
]);

// Kiro takes a token for expired this long before it is.
const EXPIRY_MARGIN_MS = 60_000;

/** Leaves the access tokens of a login that are valid, or throws `LOGIN_REQUIRED` if there is none. */
export function toAccessTokenLogin(login: KiroLogin, now: Date): AccessTokenLogin {
  const tokens = login.auth.filter(isToken).map(toBareToken);
  const known = tokens.filter((token) => token !== undefined);
  const valid = known.filter(({ expires }) => expires.getTime() - now.getTime() > EXPIRY_MARGIN_MS);
  const first = valid.map(({ expires }) => expires.getTime()).toSorted((a, b) => a - b)[0];
  if (first === undefined) throw loginRequired(known.length);
  return { ...login, auth: valid.map(({ row }) => row), expires: new Date(first) };
}

type BareToken = { readonly row: Row; readonly expires: Date };

function toBareToken(row: Row): BareToken | undefined {
  const fields = Object.entries(parseObject(row["value"])).filter(
    ([name, value]) => HARMLESS.has(name) && isPlain(value),
  );
  const { access_token: token, expires_at: expiresAt } = Object.fromEntries(fields);
  if (typeof token !== "string" || typeof expiresAt !== "string") return undefined;
  const expires = new Date(expiresAt);
  if (Number.isNaN(expires.getTime())) return undefined;
  return { row: { key: row["key"] ?? null, value: JSON.stringify(Object.fromEntries(fields)) }, expires };
}

/** The parser's own error is swallowed, since it quotes what it could not read. */
function parseObject(value: Row[string] | undefined): Readonly<Record<string, unknown>> {
  try {
    const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Objects could hold anything. */
function isPlain(value: unknown): boolean {
  return typeof value !== "object" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function loginRequired(knownCount: number): BudgieError {
  if (knownCount > 0) {
    return new BudgieError(
      "LOGIN_REQUIRED",
      `Kiro's access token on this machine has expired, and --credentials access-token hands over nothing that renews it. ` +
        `Run "kiro-cli whoami", which renews it here, and ask again.`,
    );
  }
  return new BudgieError(
    "LOGIN_REQUIRED",
    `Kiro's login on this machine holds no access token that budgie knows how to hand over alone. ` +
      `Run "kiro-cli login", or choose another of --credentials.`,
  );
}
