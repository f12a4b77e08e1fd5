import { selectClientAuthMethod } from "@modelcontextprotocol/sdk/client/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { StoredLogin } from "./stored-login.ts";

/** Revokes a login's tokens at the authorization server (RFC 7009). Does nothing if the server does not support it. Throws if it fails. */
export async function revokeLogin({ client, metadata, tokens }: StoredLogin, fetch: FetchLike): Promise<void> {
  const { revocation_endpoint: endpoint } = Object(metadata) as { readonly revocation_endpoint?: unknown };
  if (typeof endpoint !== "string") return;
  // The refresh token first: most servers revoke the access token with it.
  for (const kind of ["refresh_token", "access_token"] as const) {
    const token = tokens[kind];
    if (token === undefined) continue;
    const body = new URLSearchParams({ token, token_type_hint: kind });
    const response = await fetch(endpoint, { method: "POST", body, headers: authenticate(client, body, metadata) });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
  }
}

/** Returns the headers that authenticate the client, or adds parameters for that to the body. */
function authenticate(
  client: StoredLogin["client"],
  body: URLSearchParams,
  metadata: StoredLogin["metadata"],
): Readonly<Record<string, string>> {
  const { client_id: id, client_secret: secret = "" } = client;
  const method = selectClientAuthMethod(client, metadata?.token_endpoint_auth_methods_supported ?? []);
  if (method === "client_secret_basic") return { authorization: `Basic ${btoa(`${id}:${secret}`)}` };
  body.set("client_id", id);
  if (method === "client_secret_post") body.set("client_secret", secret);
  return {};
}
