import { refreshAuthorization } from "@modelcontextprotocol/sdk/client/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isRefusal, explainOauth } from "./explain-oauth.ts";
import type { LoginStore } from "./login-store.ts";
import { noteExpiry, type StoredLogin } from "./stored-login.ts";

type Renewal = {
  readonly id: string;
  readonly store: LoginStore;
  /** Creates a `fetch` for a login's authorization server. */
  readonly toFetch: (login: StoredLogin) => FetchLike;
};

/**
 * Returns a new access token in place of one that was refused or has expired. Concurrent callers in all processes share it, since a
 * refresh token may work only once. Removes a login that cannot be renewed any more.
 */
export function renewLogin({ id, store, toFetch }: Renewal, refused: string): Promise<string | undefined> {
  return store.change(id, async (write) => {
    const login = store.read(id);
    if (login === undefined) return undefined;
    if (login.tokens.access_token !== refused) return login.tokens.access_token;
    const renewed = await refresh(login, toFetch(login));
    write(renewed);
    return renewed?.tokens.access_token;
  });
}

/** Returns a login with new tokens; `undefined` if it can never be renewed. */
async function refresh(login: StoredLogin, fetch: FetchLike): Promise<StoredLogin | undefined> {
  const { client, issuer, metadata, resource, tokens } = login;
  if (tokens.refresh_token === undefined) return undefined;
  try {
    const next = await refreshAuthorization(issuer, {
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      fetchFn: fetch,
      ...(metadata === undefined ? {} : { metadata }),
      ...(resource === undefined ? {} : { resource }),
    });
    return { ...login, ...noteExpiry(next) };
  } catch (error) {
    if (isRefusal(error)) return undefined;
    // Without a cause, which may contain the request.
    throw new Error(`its login cannot be renewed: ${explainOauth(error)}`);
  }
}
