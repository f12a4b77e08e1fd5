import { describe, expect, it } from "vitest";
import { reduceLogin } from "../../src/login/access-token-login.ts";
import type { KiroLogin } from "../../src/login/kiro-login.ts";

const NOW = new Date("2026-06-01T12:00:00Z");
const LATER = "2026-06-01T13:00:00Z";

/** Returns a login of these rows, with values in Kiro's format. */
function login(auth: Readonly<Record<string, unknown>>): KiroLogin {
  const rows = Object.entries(auth).map(([key, value]) => ({
    key,
    value: typeof value === "string" ? value : JSON.stringify(value),
  }));
  return {
    schema: ["CREATE"],
    migrations: [],
    auth: rows,
    state: [{ key: "auth.idc.region", value: "x" }],
    fingerprint: "f",
  };
}

const TOKEN = { access_token: "a", expires_at: LATER };

function failureOf(auth: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(reduceLogin(login(auth), NOW));
  } catch (error) {
    const { code, message, cause } = error as { code: string; message: string; cause: unknown };
    expect(cause).toBeUndefined();
    return `${code}: ${message}`;
  }
}

describe("reduceLogin", () => {
  it("keeps the token, its region, the profile and the rest of the login", () => {
    const kept = { ...TOKEN, region: "r", start_url: "s", oauth_flow: "Pkce", scopes: ["one"], profile_arn: "p" };

    const bare = reduceLogin(login({ "kirocli:odic:token": { ...kept, refresh_token: "secret" } }), NOW);

    expect(bare).toEqual({ ...login({ "kirocli:odic:token": kept }), expires: new Date(LATER) });
  });

  it("removes unknown fields and objects", () => {
    const odd = { refreshToken: "s1", renewal: "s2", client_secret: "s3", region: { secret: "s4" }, scopes: [["s5"]] };

    const { auth } = reduceLogin(login({ "kirocli:social:token": { ...TOKEN, ...odd } }), NOW);

    expect(auth).toEqual([{ key: "kirocli:social:token", value: JSON.stringify(TOKEN) }]);
  });

  it("omits the registration, unknown rows and expired tokens", () => {
    const rows = {
      "kirocli:odic:device-registration": { client_secret: "s" },
      "kirocli:other": TOKEN,
      "codewhisperer:odic:token": { ...TOKEN, expires_at: "2026-06-01T11:00:00Z" },
      "kirocli:social:token": TOKEN,
    };

    const { auth } = reduceLogin(login(rows), NOW);

    expect(auth.map(({ key }) => key)).toEqual(["kirocli:social:token"]);
  });

  it("reports the expiry of the first token", () => {
    const sooner = "2026-06-01T12:30:00.123456789Z";
    const rows = { "a:token": TOKEN, "b:token": { ...TOKEN, expires_at: sooner } };

    expect(reduceLogin(login(rows), NOW).expires).toEqual(new Date("2026-06-01T12:30:00.123Z"));
  });

  it.each(["2026-06-01T11:59:59Z", "2026-06-01T12:00:59Z"])(
    "treats a token of %s as expired, as Kiro does",
    (expires_at) => {
      expect(failureOf({ "a:token": { ...TOKEN, expires_at } })).toMatch(
        /^LOGIN_REQUIRED: .*expired.*"kiro-cli whoami"/,
      );
    },
  );

  it.each([
    ["that is no JSON", "the-secret {"],
    ["that is a bare text", '"the-secret"'],
    ["without an access token", { refresh_token: "the-secret", expires_at: LATER }],
    ["without a time", { access_token: "the-secret" }],
    ["with a time that is none", { access_token: "the-secret", expires_at: "soon" }],
  ])("refuses a token %s without quoting it", (_, value) => {
    const failure = failureOf({ "a:token": value });

    expect(failure).toMatch(/^LOGIN_REQUIRED: .*Run "kiro-cli login"/);
    expect(failure).not.toContain("the-secret");
  });
});
