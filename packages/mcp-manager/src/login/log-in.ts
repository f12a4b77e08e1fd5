import { randomBytes } from "node:crypto";
import { auth, extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isReachable } from "../config/is-safe-url.ts";
import { withSignal } from "../transport/with-signal.ts";
import { listenForCode, type LoginCode } from "./code-listener.ts";
import { createLoginProvider, type LoginProgress } from "./login-provider.ts";
import { explainInDetail } from "./explain-oauth.ts";
import { noteExpiry, type NamedServer, type StoredLogin } from "./stored-login.ts";

export type LogInOptions = {
  /** Called with the address that the user's browser is to open */
  readonly onAddress: (address: string) => void;
  readonly signal?: AbortSignal | undefined;
};

/** Logs in to a server with a browser on this machine. Rejects if any answer violates OAuth 2.1 or MCP. */
export async function logIn(
  server: NamedServer,
  { onAddress, signal }: LogInOptions,
  { clientName, fetch }: { readonly clientName: string; readonly fetch: FetchLike },
): Promise<StoredLogin> {
  const state = randomBytes(32).toString("base64url");
  await using listener = await listenForCode(state);
  const asked = await findChallenge(server, fetch);
  const scope = server.scopes.length > 0 ? server.scopes.join(" ") : asked.scope;
  const progress: LoginProgress = {};
  const provider = createLoginProvider({ clientName, redirectUrl: listener.url, scope, state }, progress);
  const options = {
    serverUrl: server.url,
    fetchFn: fetch,
    ...(scope === undefined ? {} : { scope }),
    ...(asked.resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: asked.resourceMetadataUrl }),
  };
  await auth(provider, options).catch((error: unknown) => {
    throw new Error(explainInDetail(error));
  });
  checkIssuer(progress);
  onAddress(findAddress(progress, server));
  const answer = await (signal === undefined ? listener.code : withSignal(listener.code, signal));
  const { code } = checkCode(answer, progress);
  await auth(provider, { ...options, authorizationCode: code });
  return completeLogin(server, progress);
}

/** Sends a request without a token. Returns the parameters of the challenge in its 401, if any. */
async function findChallenge({ url }: NamedServer, fetch: FetchLike) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "login", version: "1" } };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  });
  await response.body?.cancel();
  return response.status === 401 ? extractWWWAuthenticateParams(response) : {};
}

/** Refuses metadata that name another server as their issuer: a code could go to the wrong one. */
function checkIssuer({ discovery }: LoginProgress): void {
  const claimed = discovery?.authorizationServerMetadata?.issuer;
  if (claimed === undefined || isSame(claimed, discovery?.authorizationServerUrl)) return;
  throw new Error("the authorization server's metadata are of another server");
}

/** Returns the address to open. Throws if it is not safe for a browser. */
function findAddress({ address }: LoginProgress, { url }: NamedServer): string {
  if (address !== undefined && isReachable(address.href, url)) return address.href;
  throw new Error("the authorization server has no address that is safe to open");
}

/** Refuses a code that another authorization server made (RFC 9207). */
function checkCode(answer: LoginCode, { discovery }: LoginProgress): LoginCode {
  const metadata = discovery?.authorizationServerMetadata;
  const isSaid = answer.issuer !== undefined;
  const says = (metadata as { readonly [key: string]: unknown } | undefined)?.[
    "authorization_response_iss_parameter_supported"
  ];
  if (isSaid ? isSame(answer.issuer, metadata?.issuer ?? discovery?.authorizationServerUrl) : says !== true)
    return answer;
  throw new Error("another authorization server answered");
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  return one?.replace(/\/$/, "") === other?.replace(/\/$/, "");
}

function completeLogin({ name, scopes, url }: NamedServer, { client, discovery, tokens }: LoginProgress): StoredLogin {
  if (client === undefined || discovery === undefined || tokens === undefined) {
    throw new Error("the authorization server gave no tokens");
  }
  const { authorizationServerMetadata: metadata, authorizationServerUrl: issuer, resourceMetadata } = discovery;
  return {
    name,
    url,
    scopes,
    issuer,
    client,
    ...noteExpiry(tokens),
    ...(metadata === undefined ? {} : { metadata }),
    ...(resourceMetadata === undefined ? {} : { resource: resourceMetadata.resource }),
  };
}
