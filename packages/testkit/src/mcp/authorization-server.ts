import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { sendJson } from "../send-json.ts";
import { serveOnLoopback } from "../serve-on-loopback.ts";

export type AuthorizationServer = AsyncDisposable & {
  readonly url: string;
  /** Tells whether a header has a token that is valid now. */
  readonly accepts: (header: string | undefined) => boolean;
  /** Makes all access tokens expire. */
  readonly expire: () => void;
  /** Refuses all requests for tokens with this error from now on; the description repeats the whole request. */
  readonly failWith: (error: string) => void;
  /** The tokens that clients revoked, in order */
  readonly revoked: readonly string[];
  /** The grant types for which it issued tokens, in order */
  readonly granted: readonly string[];
  /** The paths and headers of requests to it */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingMessage["headers"] }[];
};

export type AuthorizationServerOptions = {
  readonly expiresInSeconds?: number;
  /** Fields that override its metadata */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Parameters that it adds to the redirect URL */
  readonly answer?: Readonly<Record<string, string>>;
  readonly revocationStatus?: number;
};

type Code = { readonly challenge: string; readonly client: string; readonly redirect: string };

/** Starts an OAuth server that registers every client and authorizes every user, with PKCE. */
export async function startAuthorizationServer(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const { answer: added = {}, expiresInSeconds = 3600, metadata = {}, revocationStatus = 200 } = options;
  const clients = new Map<string, readonly string[]>();
  const codes = new Map<string, Code>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const granted: string[] = [];
  const requests: AuthorizationServer["requests"][number][] = [];
  const revoked: string[] = [];
  let failure: string | undefined;
  let url = "";

  const server = createServer((request, response) => {
    const target = new URL(request.url ?? "/", url);
    requests.push({ path: target.pathname, headers: request.headers });
    text(request)
      .then((body) => answer(target, body, response))
      .catch(() => response.destroy());
  });

  function answer(target: URL, body: string, response: ServerResponse): void {
    if (target.pathname === "/.well-known/oauth-authorization-server")
      return sendJson(response, { ...toMetadata(url), ...metadata });
    if (target.pathname === "/register") return register(body, response);
    if (target.pathname === "/authorize") return authorize(target.searchParams, response);
    if (target.pathname === "/token") return grant(new URLSearchParams(body), response);
    if (target.pathname === "/revoke") return revoke(new URLSearchParams(body), response);
    response.writeHead(404).end();
  }

  function register(body: string, response: ServerResponse): void {
    const asked = JSON.parse(body) as { readonly redirect_uris: readonly string[] };
    const client = randomUUID();
    clients.set(client, asked.redirect_uris);
    sendJson(response, { ...asked, client_id: client }, 201);
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const client = query.get("client_id") ?? "";
    const redirect = query.get("redirect_uri") ?? "";
    const challenge = query.get("code_challenge") ?? "";
    if (!clients.get(client)?.includes(redirect) || challenge === "") return void response.writeHead(400).end();
    const code = randomUUID();
    codes.set(code, { challenge, client, redirect });
    const back = new URL(redirect);
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state") ?? "");
    for (const [name, value] of Object.entries(added)) back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  function grant(body: URLSearchParams, response: ServerResponse): void {
    const kind = body.get("grant_type") ?? "";
    if (failure !== undefined) return sendJson(response, { error: failure, error_description: body.toString() }, 400);
    const isGiven = kind === "refresh_token" ? takeRefresh(body) : takeCode(body);
    if (!isGiven) return sendJson(response, { error: "invalid_grant" }, 400);
    granted.push(kind);
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` };
    access.add(tokens.access_token);
    refresh.add(tokens.refresh_token);
    sendJson(response, { ...tokens, token_type: "Bearer", expires_in: expiresInSeconds });
  }

  function revoke(body: URLSearchParams, response: ServerResponse): void {
    const token = body.get("token") ?? "";
    access.delete(token);
    refresh.delete(token);
    revoked.push(token);
    response.writeHead(revocationStatus).end();
  }

  function takeRefresh(body: URLSearchParams): boolean {
    return refresh.delete(body.get("refresh_token") ?? "");
  }

  function takeCode(body: URLSearchParams): boolean {
    const code = codes.get(body.get("code") ?? "");
    codes.delete(body.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(body.get("code_verifier") ?? "")
      .digest("base64url");
    return code?.challenge === challenge && code.redirect === body.get("redirect_uri");
  }

  const { [Symbol.asyncDispose]: dispose, port } = await serveOnLoopback(server);
  url = `http://127.0.0.1:${port}`;
  return {
    url,
    accepts: (header) => access.has(/^Bearer (.+)$/.exec(header ?? "")?.[1] ?? ""),
    expire: () => access.clear(),
    failWith: (error) => void (failure = error),
    revoked,
    granted,
    requests,
    [Symbol.asyncDispose]: dispose,
  };
}

function toMetadata(url: string) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    registration_endpoint: `${url}/register`,
    revocation_endpoint: `${url}/revoke`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
  };
}
