import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";

/** The tokens of a login to one server. */
export type ServerLogin = {
  /** Returns the access token, renewed if it has expired; `undefined` without a login. */
  readonly token: () => Promise<string | undefined>;
  /** Returns a new token in place of one that the server refused; `undefined` if there is none. */
  readonly renew: (refused: string) => Promise<string | undefined>;
};

/** Returns a `fetch` that sends a login's token to one origin, and retries once with a new token after a 401. */
export function withLogin(fetch: FetchLike, login: ServerLogin, origin: string): FetchLike {
  return async (to, init = {}) => {
    const token = new URL(to).origin === origin ? await login.token() : undefined;
    if (token === undefined) return fetch(to, init);
    const response = await fetch(to, withToken(init, token));
    if (response.status !== 401) return response;
    const next = await login.renew(token);
    if (next === undefined) return response;
    await response.body?.cancel();
    return fetch(to, withToken(init, next));
  };
}

function withToken(init: RequestInit, token: string): RequestInit {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}
