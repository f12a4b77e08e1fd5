import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { BudgieError } from "@budgie/core";
import { createBoundedFetch } from "../transport/bounded-fetch.ts";
import type { CreateFetch } from "../transport/connect-on-host.ts";
import type { ServerLogin } from "../transport/with-login.ts";
import { logIn, type LogInOptions } from "./log-in.ts";
import { createLoginStore } from "./login-store.ts";
import { explainOauth } from "./explain-oauth.ts";
import { renewLogin } from "./renew-login.ts";
import { revokeLogin } from "./revoke-login.ts";
import { loginId, type NamedServer, type StoredLogin } from "./stored-login.ts";

export type LoginsOptions = {
  /** The folder for tokens, which only its user can read */
  readonly folder: string;
  /** The program's name, as authorization servers show it */
  readonly clientName: string;
  /** Default: Node's `fetch` */
  readonly createFetch?: CreateFetch | undefined;
};

/** The logins of a user to servers over HTTP, by OAuth. */
export type Logins = {
  /** Returns the tokens for a server, for `connectOnHost`. */
  readonly find: (server: NamedServer) => ServerLogin;
  /** Logs in to a server, and replaces an earlier login. Throws `LOGIN_REQUIRED` if that fails. */
  readonly logIn: (server: NamedServer, options: LogInOptions) => Promise<LoginFacts>;
  /** Removes the logins to servers of this name, and revokes their tokens where the authorization server supports it. */
  readonly logOut: (name: string, options?: LogOutOptions) => Promise<readonly LogoutFacts[]>;
};

/** A login without its tokens. */
export type LoginFacts = {
  readonly url: string;
  /** The authorization server */
  readonly issuer: string;
  /** The scopes that were granted; `undefined` if the server did not say */
  readonly scope: string | undefined;
  /** The expiry of the first access token, which is renewed if `isRenewable` */
  readonly expiresAt: Date | undefined;
  readonly isRenewable: boolean;
};

type LogOutOptions = {
  /** The URLs of the servers; default all */
  readonly urls?: readonly string[] | undefined;
};

export type LogoutFacts = {
  readonly url: string;
  /** The reason why the tokens were not revoked; `undefined` if they were, or if the authorization server does not support it */
  readonly problem: string | undefined;
};

/** The timeout of one request to an authorization server, including the response's body */
const REQUEST_MS = 30_000;

/** Creates the logins of a folder. Processes may share it. */
export function createLogins({ clientName, createFetch, folder }: LoginsOptions): Logins {
  const store = createLoginStore(folder);

  /** Creates a `fetch` for all requests of a login. */
  function createLoginFetch(
    { headers, name, url }: Asked,
    others: "any" | readonly string[],
    signal?: AbortSignal,
  ): FetchLike {
    const onTooLarge = (): void => undefined;
    const send = createFetch?.({ name, url }, others);
    const fetch = createBoundedFetch({ url, headers, fetch: send, timeoutMs: REQUEST_MS, onTooLarge });
    return (to, init) => {
      const limit = AbortSignal.timeout(REQUEST_MS);
      return fetch(to, { ...init, signal: signal === undefined ? limit : AbortSignal.any([limit, signal]) });
    };
  }

  return {
    find(server) {
      const id = loginId(server);
      const renew = (refused: string): Promise<string | undefined> =>
        renewLogin({ store, id, toFetch: (login) => createLoginFetch(server, listUrls(login)) }, refused);
      return {
        renew,
        async token() {
          const { expiresAt = Infinity, tokens } = store.read(id) ?? {};
          if (tokens === undefined) return undefined;
          return expiresAt > Date.now() ? tokens.access_token : renew(tokens.access_token);
        },
      };
    },
    async logIn(server, options) {
      try {
        const login = await logIn(server, options, {
          clientName,
          fetch: createLoginFetch(server, "any", options.signal),
        });
        await store.change(loginId(server), async (write) => write(login));
        return toFacts(login);
      } catch (error) {
        if (options.signal?.aborted === true) throw abortedError(server, options.signal.reason as Error);
        const message = `Cannot log in to the MCP server "${server.name}": ${explainOauth(error)}.`;
        throw new BudgieError("LOGIN_REQUIRED", message);
      }
    },
    async logOut(name, { urls } = {}) {
      const ids = store.listIds().filter((id) => {
        const login = store.read(id);
        return login?.name === name && (urls === undefined || urls.includes(login.url));
      });
      const removed = await Promise.all(
        ids.map((id) =>
          store.change(id, async (write) => {
            const login = store.read(id);
            write(undefined);
            return login;
          }),
        ),
      );
      return Promise.all(
        removed
          .filter((login) => login !== undefined)
          // The server chose this address too, and no login has tried it.
          .map((login) => revoke(login, createLoginFetch({ ...login, headers: {} }, "any"))),
      );
    },
  };
}

type Asked = Pick<NamedServer, "headers" | "name" | "url">;

/** Returns the URLs of the authorization server that renewing a login needs. The login itself has used them. */
function listUrls({ issuer, metadata }: StoredLogin): readonly string[] {
  const { token_endpoint: token } = Object(metadata) as Readonly<Record<string, unknown>>;
  return [issuer, token].filter((url): url is string => typeof url === "string" && URL.canParse(url));
}

function abortedError({ name }: NamedServer, reason: Error): Error {
  if (reason.name !== "TimeoutError") return reason;
  return new BudgieError("TIMED_OUT", `Nobody logged in to the MCP server "${name}" in time.`);
}

function toFacts({ expiresAt, issuer, tokens, url }: StoredLogin): LoginFacts {
  return {
    url,
    issuer,
    scope: tokens.scope,
    expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
    isRenewable: tokens.refresh_token !== undefined,
  };
}

async function revoke(login: StoredLogin, fetch: FetchLike): Promise<LogoutFacts> {
  const { url } = login;
  try {
    await revokeLogin(login, fetch);
    return { url, problem: undefined };
  } catch (error) {
    return { url, problem: explainOauth(error) };
  }
}
