import { BudgieError, formatOption } from "@budgie/core";
import { parseBoundedJson } from "@budgie/core/bounds";
import { isToken, type KiroLogin } from "./kiro-login.ts";
import type { Row } from "@budgie/store";

/** A login that is usable until its access tokens expire, and cannot be renewed. */
export type AccessTokenLogin = KiroLogin & {
  /** The earliest expiry of its tokens */
  readonly expires: Date;
};

// An allow-list, since a later Kiro may store a refresh token under another name.
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

// Kiro treats a token as expired this long before its expiry.
const EXPIRY_MARGIN_MS = 60_000;

/** Reduces a login to its valid access tokens. Throws `LOGIN_REQUIRED` if there is none. */
export function reduceLogin(login: KiroLogin, now: Date): AccessTokenLogin {
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

/** Parses a JSON object. It discards the parser's error, which quotes the secret. */
function parseObject(value: Row[string] | undefined): Readonly<Record<string, unknown>> {
  try {
    const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
    const parsed: unknown = parseBoundedJson(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Returns true if a value is plain: an object could contain a secret. */
function isPlain(value: unknown): boolean {
  return typeof value !== "object" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function loginRequired(knownCount: number): BudgieError {
  if (knownCount > 0) {
    return new BudgieError(
      "LOGIN_REQUIRED",
      `Kiro's access token on this machine has expired, and ${formatOption("credentials")} access-token hands over nothing that renews it. ` +
        `Run "kiro-cli whoami", which renews it here, and ask again.`,
    );
  }
  return new BudgieError(
    "LOGIN_REQUIRED",
    `Kiro's login on this machine holds no access token that budgie knows how to hand over alone. ` +
      `Run "kiro-cli login", or choose another of ${formatOption("credentials")}.`,
  );
}
