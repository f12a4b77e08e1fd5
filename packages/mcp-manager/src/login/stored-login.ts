import { createHash } from "node:crypto";
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import { z } from "zod";
import type { HttpServer } from "../config/mcp-server.ts";

/** A server over HTTP, with its name. */
export type NamedServer = HttpServer & { readonly name: string };

/** A login to one server, with all that its renewal needs. Its tokens go only to that server and its authorization server. */
export type StoredLogin = {
  readonly name: string;
  readonly url: string;
  readonly scopes: readonly string[];
  /** The authorization server */
  readonly issuer: string;
  readonly metadata?: AuthorizationServerMetadata | undefined;
  /** The resource that the tokens are for */
  readonly resource?: string | undefined;
  readonly client: OAuthClientInformationMixed;
  readonly tokens: OAuthTokens;
  /** The time at which the access token expires, in milliseconds since 1970; `undefined` if the server did not say */
  readonly expiresAt?: number | undefined;
};

/** Returns the id of a server's login. A server with another name, URL or set of scopes needs another login. */
export function loginId({ name, scopes, url }: Pick<NamedServer, "name" | "scopes" | "url">): string {
  const bound = JSON.stringify([name, url, scopes.toSorted()]);
  return createHash("sha256").update(bound).digest("hex").slice(0, 32);
}

const schema = z.looseObject({
  name: z.string(),
  url: z.string(),
  scopes: z.array(z.string()),
  issuer: z.string(),
  metadata: z.looseObject({ token_endpoint: z.string() }).optional(),
  resource: z.string().optional(),
  client: z.looseObject({ client_id: z.string() }),
  tokens: z.looseObject({ access_token: z.string(), refresh_token: z.string().optional() }),
  expiresAt: z.number().optional(),
});

/** Parses a stored login; `undefined` for anything else. */
export function parseStoredLogin(value: unknown): StoredLogin | undefined {
  return schema.safeParse(value).data as StoredLogin | undefined;
}

/** Returns new tokens with the time at which they expire. */
export function noteExpiry(tokens: OAuthTokens): Pick<StoredLogin, "expiresAt" | "tokens"> {
  const { expires_in: seconds } = tokens;
  return { tokens, ...(seconds === undefined ? {} : { expiresAt: Date.now() + seconds * 1000 }) };
}
