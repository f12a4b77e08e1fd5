import { refreshAuthorization } from "@modelcontextprotocol/sdk/client/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isRefusal, toOAuthReason } from "./oauth-error.ts";
import type { LoginStore } from "./login-store.ts";
import { toExpiring, type StoredLogin } from "./stored-login.ts";

type Renewal = {
  readonly id: string;
  readonly store: LoginStore;
  /** Creates a `fetch` for a login's authorization server. */
  readonly toFetch: (login: StoredLogin) => FetchLike;
};

/**
 * Returns another access token than one that is refused or expired. Processes that ask at once share one new token, since the first
 * use of a refresh token may be the only one. A login that is refused is removed.
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

/** Returns a login with new tokens; `undefined` if there will be none. */
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
    return { ...login, ...toExpiring(next) };
  } catch (error) {
    if (isRefusal(error)) return undefined;
    // Without a cause, which may have the request.
    throw new Error(`its login cannot be renewed: ${toOAuthReason(error)}`);
  }
}
