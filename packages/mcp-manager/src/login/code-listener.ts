import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { plainCode } from "./explain-oauth.ts";

/** A listener on this machine to which the browser brings the authorization code. */
export type CodeListener = AsyncDisposable & {
  readonly url: string;
  /** Resolves to the code. Rejects if the authorization server refused the login. */
  readonly code: Promise<LoginCode>;
};

export type LoginCode = {
  readonly code: string;
  /** The authorization server that claims to have issued it; `undefined` if none does */
  readonly issuer: string | undefined;
};

const PATH = "/callback";

/** Listens on a free port of the loopback interface. Refuses requests without the secret `state`, and goes on waiting. */
export async function listenForCode(state: string): Promise<CodeListener> {
  const { promise, reject, resolve } = withResolvers<LoginCode>();
  // Avoids an unhandled rejection.
  promise.catch(() => undefined);
  const server = createServer({ connectionsCheckingInterval: 1000, requestTimeout: 10_000 }, (request, response) => {
    const query = readQuery(request, state);
    if (query === undefined) return answer(response, 400, "This is not the end of a login that waits here.");
    const error = query.get("error");
    if (error === null) resolve({ code: query.get("code") ?? "", issuer: query.get("iss") ?? undefined });
    else reject(new Error(`the authorization server says ${plainCode(error)}`));
    const text = error === null ? "Logged in, if the program that asked for it agrees." : "The login was refused.";
    answer(response, 200, `${text} You can close this page.`);
  });
  server.maxConnections = 16;
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    code: promise,
    async [Symbol.asyncDispose]() {
      server.close();
      // Lets the browser receive its page.
      server.closeIdleConnections();
      setTimeout(() => server.closeAllConnections(), GOODBYE_MS).unref();
      await once(server, "close");
    },
  };
}

const GOODBYE_MS = 1000;

/** Returns the authorization server's answer; `undefined` for a request that cannot come from it. */
function readQuery({ method, url = "" }: IncomingMessage, state: string): URLSearchParams | undefined {
  if (method !== "GET" || !URL.canParse(url, "http://127.0.0.1")) return undefined;
  const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
  const isOurs = pathname === PATH && isEqual(searchParams.get("state") ?? "", state);
  return isOurs && (searchParams.has("code") || searchParams.has("error")) ? searchParams : undefined;
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function answer(response: ServerResponse, status: number, text: string): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close",
  };
  response.writeHead(status, headers).end(`${text}\n`);
}

// Promise.withResolvers is not in Node 20.
function withResolvers<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<Value>((...both) => void ([resolve, reject] = both));
  return { promise, resolve, reject };
}
